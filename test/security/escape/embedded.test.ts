import { type StdioOptions, spawn } from 'node:child_process'
import { closeSync, existsSync, openSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, expect, test } from 'vitest'
import { silentLogger } from '../../../src/base/logger.ts'
import { createEmbeddedDriver, type SandboxControl } from '../../../src/sandbox/embedded/embedded-driver.ts'
import { temporaryFolder } from '../../contract/sandbox-support.ts'
import { type DriverUnderProbe, describeEscapes, testWithout } from './describe-escapes.ts'

async function open(options: { without?: SandboxControl[]; forkServer?: 'eager' | 'off' }): Promise<DriverUnderProbe> {
  const folder = temporaryFolder()
  const { without = [], forkServer = 'off' } = options
  const driver = createEmbeddedDriver({ directory: folder.path, logger: silentLogger, without, forkServer })
  return {
    driver,
    directory: folder.path,
    engineSockets: [],
    async close() {
      await driver.close()
      folder.remove()
    },
  }
}

describe.skipIf(!existsSync('/usr/bin/bwrap'))('with bubblewrap', () => {
  describeEscapes('embedded', () => open({ forkServer: 'off' }))
  describeEscapes('embedded, fork server', () => open({ forkServer: 'eager' }))

  testWithout({
    control: 'seccomp',
    open: () => open({ without: ['seccomp'] }),
    reds: [
      ...['unshare-user', 'clone-user', 'clone3-user', 'ptrace', 'process-memory', 'descriptor-theft', 'userfaultfd'],
      ...['io-uring', 'key-ring', 'bpf', '32-bit-calls', 'vsock', 'netlink'],
    ],
    isRefused: true,
  })
  testWithout({
    control: 'uid',
    open: () => open({ without: ['uid'] }),
    reds: ['kernel-files', 'root-tables'],
    isRefused: true,
  })
  testWithout({
    control: 'cgroup',
    open: () => open({ without: ['cgroup'] }),
    reds: ['memory-by-one'],
    // There are machines that give it none: it says so, and lets fewer processes run.
    isRefused: false,
  })

  test.each(['off', 'eager'])(
    'SEC-12 descriptors that were left open to this program: fork server %s',
    async (forkServer) => {
      const folder = temporaryFolder()
      writeFileSync(join(folder.path, 'secret'), 'secret')
      const stray = openSync(join(folder.path, 'secret'), 'r+')
      const script = join(import.meta.dirname, 'stray-descriptor-child.ts')
      const stdio: StdioOptions = [
        'ignore',
        'pipe',
        'inherit',
        'ignore',
        'ignore',
        stray,
        stray,
        'ignore',
        'ignore',
        stray,
      ]
      const child = spawn(process.execPath, [script, join(folder.path, 'home'), forkServer], { stdio })
      if (!child.stdout) throw new Error('There is nothing to read')
      const printed = await text(child.stdout)
      closeSync(stray)
      folder.remove()
      expect(JSON.parse(printed).toSorted()).toEqual(['0', '1', '2', '3'])
    },
  )
})
