import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/logger.ts'
import { type SandboxCommand, type SandboxLack, type SandboxOutcome, SandboxUnavailable } from '../sandbox.ts'
import { findCgroups } from './cgroup/find-cgroups.ts'
import { instanceName } from './instance.ts'
import { removeAbandoned } from './janitor.ts'
import { checkMachine } from './machine.ts'
import { prepareCommand } from './prepare-command.ts'
import { proveFork } from './proof/prove-driver.ts'
import { type SandboxAccount, sandboxAccount } from './sandbox-account.ts'
import { openStage, stagePlace } from './stage/open-stage.ts'
import { driveCall } from './world/drive-call.ts'
import type { World } from './world/world.ts'
import { createWorlds, type ForkServerUse } from './worlds.ts'

/** What the driver claims of a sandbox, and what a test can take away to see what it was good for. */
export type SandboxControl = 'seccomp' | 'uid' | 'cgroup'

/** Nobody has run anything for so long: what waits for the next call is let go. */
const idleMs = 5 * 60_000

/** A driver with its feet on this machine. Whoever opens it closes it. */
export interface OpenDriver {
  run(command: SandboxCommand): Promise<SandboxOutcome>
  /** Files of this machine that no sandbox may see. */
  hostPaths: readonly string[]
  limitsMemory: boolean
  lacks: readonly SandboxLack[]
  close(): Promise<void>
}

/** Throws `SandboxUnavailable` where the machine does not have what it takes. */
export async function openDriver(options: {
  directory: string
  logger: Logger
  clock: Clock
  without: readonly SandboxControl[]
  forkServer: ForkServerUse
}): Promise<OpenDriver> {
  const { directory, logger, clock, without, forkServer } = options
  const checked = await checkMachine()
  if (!checked.ok) throw new SandboxUnavailable(checked.reason, checked.fix)
  const account = without.includes('uid') ? hostRoot : await sandboxAccount()
  const instance = instanceName()
  const found = findCgroups({ instance, account })
  await removeAbandoned({ stagePlace: stagePlace(directory, account), cgroupPlaces: found.places })
  const hasFilter = !without.includes('seccomp')
  const stage = await openStage({ ...checked.machine, directory, instance, account, hasFilter })
  const cgroups = without.includes('cgroup') ? undefined : found.open?.()
  const hostPaths = [directory, stage.filter, '/root', '/home', '/etc/shadow', '/boot', '/sys/kernel']
  const worlds = createWorlds({
    ...checked.machine,
    account,
    stage,
    cgroups,
    instance,
    hasFilter,
    forkServer,
    logger,
    isSound,
  })
  const ending = new AbortController()
  let calls = 0
  let underWay = 0
  let cancelRest = () => {}

  async function runIn(take: typeof worlds.take, command: SandboxCommand): Promise<SandboxOutcome> {
    calls += 1
    underWay += 1
    cancelRest()
    const hasCgroup = cgroups !== undefined
    try {
      const { prepared, release } = await prepareCommand({ command, stage, account, name: String(calls), hasCgroup })
      try {
        const world = await take(prepared)
        return await driveCall({ world, command: prepared, clock, driver: 'embedded' })
      } finally {
        await release()
      }
    } finally {
      underWay -= 1
      if (underWay === 0 && !ending.signal.aborted) cancelRest = clock.after(idleMs, () => void worlds.rest())
    }
  }

  async function isSound(take: () => Promise<World>): Promise<boolean> {
    const proofs = await proveFork((command) => runIn(take, command), hostPaths, ending.signal)
    const failed = proofs.filter(({ ok }) => !ok)
    for (const { name, detail } of failed) logger.warn('A forked sandbox does not hold', { name, detail })
    return failed.length === 0
  }

  return {
    async run(command) {
      const signal = AbortSignal.any([command.signal, ending.signal])
      return runIn(worlds.take, { ...command, signal })
    },
    hostPaths,
    limitsMemory: cgroups !== undefined,
    lacks: cgroups ? [] : [{ what: noCgroup, fix: found.fix }],
    async close() {
      ending.abort(new SandboxUnavailable('The sandbox is closed'))
      cancelRest()
      while (underWay > 0) await new Promise((resolve) => setTimeout(resolve, 5))
      await worlds.rest()
      await cgroups?.remove()
      await stage.remove()
    },
  }
}

/** For tests only: what the sandbox would be if nobody had thought of it. */
const hostRoot: SandboxAccount = { uid: 0, gid: 0, isOther: false }

const noCgroup = 'memory is limited for each process instead of for all together, so there may be only a few of them'
