import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe } from 'vitest'
import { containerPlace, createContainerDriver } from '../../src/sandbox/container/container-driver.ts'
import { startPodman, whyNoPodman } from '../support/start-podman.ts'
import { describeSandbox } from './sandbox-contract.ts'
import { temporaryFolder } from './sandbox-support.ts'

const missing = whyNoPodman()

describe.skipIf(missing)(missing ?? 'with Podman', () => {
  describeSandbox('a container engine', async () => {
    const podman = await startPodman()
    const folder = temporaryFolder()
    const openIn = (directory: string) =>
      createContainerDriver({ socketPath: podman.socketPath, runtimeDirectory: null, directory })
    const driver = openIn(folder.path)
    return {
      driver,
      another: () => openIn(join(folder.path, 'another')),
      leftovers() {
        const containers = podman.containers().map((id) => `container ${id}`)
        const folders = readdirSync(containerPlace(folder.path)).filter((name) => /^(run|copies)-/.test(name))
        return [...containers, ...folders]
      },
      async dispose() {
        await podman.stop()
        for (const path of [folder.path, join(folder.path, 'another')]) {
          rmSync(containerPlace(path), { recursive: true, force: true })
        }
        folder.remove()
      },
    }
  })
})
