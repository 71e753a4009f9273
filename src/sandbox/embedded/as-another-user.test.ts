import { spawn } from 'node:child_process'
import { chownSync, existsSync, mkdirSync, mkdtempSync, rmdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterEach, describe, expect, it } from 'vitest'
import { hasBubblewrap, isOpenToAll, isRoot } from '../../../test/support/embedded-sandbox.ts'

/** An unused id. */
const user = 64_555
const here = (path: string) => new URL(path, import.meta.url)
const canRead = isRoot && isOpenToAll(import.meta.filename) && isOpenToAll(process.execPath)

const directory = mkdtempSync(join(tmpdir(), 'familiar-user-'))
const grants = ['/sys/fs/cgroup/memory', '/sys/fs/cgroup/pids'].map((tree) => join(tree, `familiar-${user}`))
afterEach(() => {
  for (const group of grants.filter((path) => existsSync(path))) rmdirSync(group)
  rmSync(directory, { recursive: true, force: true })
})

/** The view of an ordinary user's daemon: its driver's test, and two ways to read one of its files. */
async function asUser() {
  const program = `
    import { chmodSync, readdirSync, writeFileSync } from 'node:fs'
    import { createEmbeddedDriver } from '${here('./embedded-driver.ts')}'
    import { commandOf } from '${here('../../../test/contract/sandbox-support.ts')}'
    import { silentLogger } from '${here('../../base/logger.ts')}'
    process.umask(0o077)
    const directory = '${directory}/sandbox'
    const driver = createEmbeddedDriver({ directory, logger: silentLogger, forkServer: 'eager' })
    const { ok, lacks } = await driver.test(AbortSignal.timeout(60_000))
    writeFileSync('${directory}/own', 'of my own')
    const read = async (...argv) => {
      const mounts = [{ source: '${directory}', target: '/tool' }]
      const { stdout, peakMemoryBytes } = await driver.run(commandOf(argv, { mounts }))
      return [Buffer.from(stdout).toString(), peakMemoryBytes !== null]
    }
    const forked = await read('python3', '-c', 'print(end=open("/tool/own").read())')
    const started = await read('cat', '/tool/own')
    await driver.close()
    console.log(JSON.stringify({ ok, lacks, forked, started, left: readdirSync(directory) }))`
  const child = spawn(process.execPath, ['--input-type=module-typescript', '--eval', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {},
    cwd: '/',
    uid: user,
    gid: user,
  })
  return JSON.parse(await text(child.stdout))
}

describe.skipIf(!hasBubblewrap || !canRead)('the driver of an ordinary user (root and bubblewrap are needed)', () => {
  it('SEC-12 passes its test, and names the command that would limit memory', { timeout: 60_000 }, async () => {
    mkdirSync(directory, { recursive: true, mode: 0o700 })
    chownSync(directory, user, user)
    const lacks = [{ what: expect.stringContaining('memory'), fix: expect.stringMatching(/Delegate|chown/) }]
    const read = ['of my own', false]
    expect(await asUser()).toEqual({ ok: true, lacks, forked: read, started: read, left: [] })
  })

  it.skipIf(!existsSync('/sys/fs/cgroup/memory/cgroup.procs'))(
    'SEC-12 limits memory in cgroups that were delegated to the user',
    { timeout: 60_000 },
    async () => {
      mkdirSync(directory, { recursive: true, mode: 0o700 })
      chownSync(directory, user, user)
      for (const group of grants) {
        mkdirSync(group)
        chownSync(group, user, user)
      }
      const read = ['of my own', true]
      expect(await asUser()).toEqual({ ok: true, lacks: [], forked: read, started: read, left: [] })
    },
  )
})
