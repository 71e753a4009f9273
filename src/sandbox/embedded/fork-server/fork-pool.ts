import type { Logger } from '../../../base/logger.ts'
import type { Cgroup } from '../cgroup/cgroup.ts'
import type { World } from '../world/world.ts'
import { createWorldPool, type WorldPool } from '../world/world-pool.ts'
import type { ForkServer } from './fork-server.ts'

/** Worlds of a fork server that is started when it is first wanted. */
export interface ForkPool {
  /** Starts the server if there is none; resolves when it can be used, or cannot. */
  warmUp(): Promise<void>
  /** Undefined while there is no server. */
  take(): Promise<World | undefined>
  /** Ends the server. It is started again when it is wanted again. */
  close(): Promise<void>
}

interface Warm {
  server: ForkServer
  pool: WorldPool
}

/** Started in vain so often, it is not tried again: Python then starts anew for each call. */
const patience = 3

export function createForkPool(options: {
  size: number
  start(): Promise<ForkServer>
  nextGroup(): Cgroup | undefined
  /** Whether a world that was forked holds what is claimed. */
  isSound(take: () => Promise<World>): Promise<boolean>
  logger: Logger
}): ForkPool {
  const { logger } = options
  let warming: Promise<Warm> | undefined
  let warm: Warm | undefined
  let failures = 0

  async function start(): Promise<Warm> {
    const server = await options.start()
    const make = () => server.begin(options.nextGroup())
    const onFailure = (cause: unknown) => logger.debug('A sandbox could not be forked', { cause })
    try {
      if (!(await options.isSound(make))) throw new Error('What it forks does not hold what is claimed')
      return { server, pool: createWorldPool({ size: options.size, make, onFailure }) }
    } catch (cause) {
      await server.close()
      throw cause
    }
  }

  async function warmUp(): Promise<void> {
    if (failures >= patience) return
    warming ??= start()
    const started = warming
    try {
      const { server } = await started
      if (warming !== started || warm) return
      warm = await started
      void server.gone.then(() => close(started))
    } catch (cause) {
      if (warming !== started) return
      warming = undefined
      failures += 1
      logger.warn('The fork server for Python is not used', { cause })
    }
  }

  async function close(started = warming): Promise<void> {
    if (warming === started) {
      warming = undefined
      warm = undefined
    }
    const ending = await started?.catch(() => undefined)
    await ending?.pool.drain()
    await ending?.server.close()
  }

  return {
    warmUp,
    async take() {
      return warm?.pool.take().catch((cause) => {
        logger.warn('The fork server did not fork', { cause })
        return undefined
      })
    },
    close: () => close(),
  }
}
