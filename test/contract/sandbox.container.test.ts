import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe } from 'vitest'
import { createContainerDriver } from '../../src/sandbox/container/create-container-driver.ts'
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
        const folders = readdirSync(join(folder.path, 'container')).filter((name) => /^(run|copies)-/.test(name))
        return [...containers, ...folders]
      },
      async dispose() {
        await podman.stop()
        folder.remove()
      },
    }
  })
})
