import type { Logger } from '../../base/logger.ts'
import type { CgroupParent } from './cgroup/cgroup.ts'
import { createForkPool } from './fork-server/fork-pool.ts'
import { isForkable } from './fork-server/fork-request.ts'
import { startForkServer } from './fork-server/fork-server.ts'
import { findSystemProgram } from './inner-programs.ts'
import type { SandboxAccount } from './sandbox-account.ts'
import type { Stage } from './stage/open-stage.ts'
import { startLauncher } from './world/launcher.ts'
import type { PreparedCommand, World } from './world/world.ts'
import { createWorldPool } from './world/world-pool.ts'

/** So many wait for the next call. */
const waiting = 2

/** `lazy` starts it after the first Python. `eager` has the first one wait for it; `off` forks nothing: both for tests. */
export type ForkServerUse = 'lazy' | 'eager' | 'off'

/** Where worlds come from: bubblewrap for every command, the fork server for Python once it is awake. */
export interface Worlds {
  take(command: PreparedCommand): Promise<World>
  /** Throws away what is kept for the next call. */
  rest(): Promise<void>
}

export function createWorlds(options: {
  bubblewrap: string
  account: SandboxAccount
  stage: Stage
  cgroups: CgroupParent | undefined
  instance: string
  hasFilter: boolean
  forkServer: ForkServerUse
  logger: Logger
  /** Whether a world that was forked holds what is claimed. */
  isSound(take: () => Promise<World>): Promise<boolean>
}): Worlds {
  const { account, stage, cgroups, logger, isSound, forkServer: use } = options
  const python = use === 'off' ? undefined : findSystemProgram('python3')
  let serial = 0

  function nextGroup() {
    serial += 1
    return cgroups?.make(String(serial))
  }

  const launched = createWorldPool({
    size: waiting,
    make: () =>
      startLauncher({
        bubblewrap: options.bubblewrap,
        account,
        root: stage.root,
        binds: stage.binds,
        firstShell: stage.firstShell,
        filter: options.hasFilter ? stage.filter : undefined,
        mark: options.instance,
        cgroup: nextGroup(),
      }),
    onFailure: (cause) => logger.warn('A sandbox could not be prepared', { cause }),
  })

  const forked = python
    ? createForkPool({
        size: waiting,
        start: () =>
          startForkServer({ python, ...stage.forkServer, account, mark: options.instance, cgroup: nextGroup() }),
        nextGroup,
        isSound,
        logger,
      })
    : undefined

  return {
    async take(command) {
      if (!forked || !isForkable(command)) return launched.take()
      const warmingUp = forked.warmUp()
      if (use === 'eager') await warmingUp
      return (await forked.take()) ?? launched.take()
    },
    async rest() {
      await Promise.all([launched.drain(), forked?.close()])
    },
  }
}
