import { type Logger, silentLogger } from '../base/logger.ts'
import { createSandbox } from '../sandbox/create-sandbox.ts'
import type { Sandbox, SandboxDriver } from '../sandbox/sandbox.ts'
import type { Config } from './config/config.ts'

/**
 * The sandbox as the config wants it. Nothing is loaded, made or tried before it is first asked for: most homes have no
 * tool yet, and a start should not pay for one.
 */
export function openSandbox(options: {
  settings: Config['sandbox']
  /** Ours alone, for sockets and argument files. */
  directory: string
  /** The user's own directory for sockets (`XDG_RUNTIME_DIR`), where a container engine of theirs listens. */
  runtimeDirectory: string | null
  logger?: Logger
}): Sandbox {
  const { settings, directory, logger = silentLogger, runtimeDirectory } = options
  const { driver } = settings
  return createSandbox(async () => {
    const drivers: SandboxDriver[] = []
    if (driver === 'auto' || driver === 'embedded') {
      const { createEmbeddedDriver } = await import('../sandbox/embedded/create-embedded-driver.ts')
      drivers.push(createEmbeddedDriver({ directory, logger }))
    }
    if (driver === 'auto' || driver === 'container') {
      const { createContainerDriver } = await import('../sandbox/container/create-container-driver.ts')
      const socketPath = settings.containerSocket
      drivers.push(createContainerDriver({ directory, socketPath, runtimeDirectory, logger }))
    }
    return drivers
  })
}
