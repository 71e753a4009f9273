import { setTimeout as wait } from 'node:timers/promises'
import { readDaemonInfo, readLiveRecord } from '../../daemon/daemon-info.ts'
import { acquireDaemonLock } from '../../daemon/daemon-lock.ts'
import { createApiClient } from '../api-client.ts'
import type { CommandContext } from '../command.ts'
import { CommandError } from '../command-error.ts'
import { knownManager } from '../service/own-service.ts'
import { type ServiceManager, serviceState, tellManager } from '../service/service-manager.ts'
import type { Health } from './check-program.ts'

/** The home, held so that no daemon can start on it, and how to bring back the one that ran. */
export interface StoppedDaemon {
  /** Undefined where none ran; null where somebody had started one by hand, who has to do it again. */
  service: ServiceManager | null | undefined
  /** Lets go of the home. */
  release(): Promise<void>
}

const patienceMs = 90_000
const pauseMs = 100

/** Ends the daemon of this home as a stop does: what runs is brought to an end, and nothing new is taken in. */
export async function stopDaemon(context: CommandContext): Promise<StoppedDaemon> {
  const { homePath, signal } = context
  const running = readLiveRecord(homePath)
  const service = running && (await serviceOf(context, running.pid))
  if (service) {
    const told = await tellManager(service.halt, context)
    if (!told.ok) throw new CommandError(`The service was not stopped: ${told.message}`)
  } else if (running) process.kill(running.pid, 'SIGTERM')
  const deadline = performance.now() + patienceMs
  for (;;) {
    const lock = await acquireDaemonLock(homePath)
    if (lock.ok) return { service: running ? (service ?? null) : undefined, release: lock.release }
    if (performance.now() >= deadline) {
      throw new CommandError(`Process ${lock.pid ?? 'unknown'} holds ${homePath} and does not end.`, { code: 'locked' })
    }
    await wait(pauseMs, undefined, { signal })
  }
}

/** Has the service started again, and waits until its daemon answers. */
export async function resumeService(
  context: CommandContext,
  service: ServiceManager,
  version: string,
): Promise<Health> {
  const told = await tellManager(service.resume, context)
  if (!told.ok) return { ok: false, problem: `the service was not started: ${told.message}` }
  const deadline = performance.now() + 60_000
  for (;;) {
    const info = readDaemonInfo(context.homePath)
    const status =
      info &&
      (await createApiClient(info)
        .status()
        .catch(() => undefined))
    if (status?.version === version) return { ok: true }
    if (performance.now() >= deadline) return { ok: false, problem: 'the service does not answer' }
    await wait(pauseMs, undefined, { signal: context.signal })
  }
}

async function serviceOf(context: CommandContext, pid: number): Promise<ServiceManager | undefined> {
  const manager = knownManager(context)
  const state = manager && (await serviceState(manager, context))
  return state?.pid === pid ? manager : undefined
}
