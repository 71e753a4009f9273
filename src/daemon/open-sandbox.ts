import { type Logger, silentLogger } from '../base/logger.ts'
import { speechDestination } from '../models/speech/speaker.ts'
import { createSandbox, type Sandbox, type SandboxDriver } from '../sandbox/sandbox.ts'
import { webSearchDestination } from '../tools/builtin/web-search.ts'
import type { Config, ReloadableConfig } from './config/config.ts'

/**
 * The configured sandbox. Nothing is loaded, created or tested before its first use: most homes have no tool yet, and a
 * start should not pay for one.
 */
export function openSandbox(options: {
  settings: Config['sandbox']
  /** A private directory for sockets and argument files. */
  directory: string
  /** The user's runtime directory (`XDG_RUNTIME_DIR`), where a rootless container engine listens. */
  runtimeDirectory: string | null
  logger?: Logger
}): Sandbox {
  const { settings, directory, logger = silentLogger, runtimeDirectory } = options
  const { driver } = settings
  return createSandbox(async () => {
    const drivers: SandboxDriver[] = []
    if (driver === 'auto' || driver === 'embedded') {
      const { createEmbeddedDriver } = await import('../sandbox/embedded/embedded-driver.ts')
      drivers.push(createEmbeddedDriver({ directory, logger }))
    }
    if (driver === 'auto' || driver === 'container') {
      const { createContainerDriver } = await import('../sandbox/container/container-driver.ts')
      const socketPath = settings.containerSocket
      drivers.push(createContainerDriver({ directory, socketPath, runtimeDirectory, logger }))
    }
    return drivers
  })
}

/** With the destinations of calls that need no approval: those that the owner listed, and the configured services. */
export function policyOf({ policy, tools }: Pick<ReloadableConfig, 'policy' | 'tools'>) {
  const services = [webSearchDestination(tools.webSearch), speechDestination(tools.tts)]
  const destinations = [...policy.destinations, ...services.filter((service) => service !== null)]
  return { mode: policy.mode, destinations }
}
