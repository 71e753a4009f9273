import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe } from 'vitest'
import { silentLogger } from '../../src/base/logger.ts'
import { createEmbeddedDriver } from '../../src/sandbox/embedded/embedded-driver.ts'
import { describeSandbox } from './sandbox-contract.ts'
import { temporaryFolder } from './sandbox-support.ts'

describe.skipIf(!existsSync('/usr/bin/bwrap'))('with bubblewrap', () => {
  describe.each(['off', 'eager'] as const)('fork server %s', (forkServer) => {
    describeSandbox('embedded', async () => {
      const folder = temporaryFolder()
      const openIn = (directory: string) => createEmbeddedDriver({ directory, logger: silentLogger, forkServer })
      const driver = openIn(folder.path)
      const groupsBefore = ownGroups()
      return {
        driver,
        another: () => openIn(join(folder.path, 'another')),
        leftovers: () => ownGroups().filter((name) => !groupsBefore.includes(name)),
        dispose: async () => folder.remove(),
      }
    })
  })
})

function ownGroups(): string[] {
  const trees = ['/sys/fs/cgroup/memory', '/sys/fs/cgroup/pids', '/sys/fs/cgroup'].filter((path) => existsSync(path))
  return trees.flatMap((tree) =>
    readdirSync(tree).filter((name) => /^familiar-sandbox-/.test(name) && name.includes(`-${process.pid}-`)),
  )
}
