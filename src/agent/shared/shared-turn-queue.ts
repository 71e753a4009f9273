import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/logger.ts'
import type { Inbox } from '../../sessions/inbox.ts'
import type { SessionHolders } from '../../sessions/session-holders.ts'
import type { Lane, LaneJobs } from '../../storage/lane-jobs.ts'
import { joinable, quietTime } from '../joinable.ts'
import type { JobResult, TurnJob, TurnQueue } from '../turn-queue.ts'

const troubleMs = 2_000

/**
 * Who runs when, over all daemons: each session is a lane, and what is to be done in it is read from the inbox by
 * whichever daemon looks at it. Nothing waits in memory, so nothing is lost with a daemon.
 */
export function createSharedTurnQueue(dependencies: {
  kind: string
  jobs: LaneJobs
  inbox: Pick<Inbox, 'openIn'>
  holders: Pick<SessionHolders, 'take'>
  clock: Clock
  logger: Logger
  debounceMs: number
  /** Never rejects. */
  run(sessionId: string, job: TurnJob): Promise<JobResult>
}): TurnQueue & { look(sessionId: string): Promise<void> } {
  const { kind, jobs, inbox, holders, clock, logger, debounceMs, run } = dependencies
  let running = 0
  let isDraining = false
  let drained: (() => void) | undefined
  const laneOf = (id: string): Lane => ({ kind, id })

  async function nextIn(sessionId: string): Promise<{ job: TurnJob } | { waitMs: number } | undefined> {
    const open = await inbox.openIn(sessionId)
    if (!open) return undefined
    const { userId, turnId, queued } = open
    if (turnId !== undefined) return { job: { kind: 'resume', userId, turnId } }
    const waitMs = quietTime(queued, { debounceMs, now: clock.now() })
    if (waitMs === undefined) return undefined
    return waitMs > 0 ? { waitMs } : { job: { kind: 'messages', userId, messages: joinable(queued) } }
  }

  async function workOff(sessionId: string): Promise<void> {
    await holders.take(sessionId)
    while (!isDraining) {
      const next = await nextIn(sessionId)
      if (!next) return
      if ('waitMs' in next) return lookLater(sessionId, next.waitMs)
      const result = await run(sessionId, next.job)
      if (typeof result === 'object') return lookLater(sessionId, result.retryAfterMs)
      if (result === 'suspended') break
    }
    // Whoever has a place free goes on.
    await jobs.ask(laneOf(sessionId))
  }

  /** The job waits in the database as well; the timer only spares it the wait until somebody looks for jobs again. */
  async function lookLater(sessionId: string, waitMs: number): Promise<void> {
    await jobs.ask(laneOf(sessionId), { notBefore: clock.now() + waitMs })
    clock.after(waitMs, () => ask(sessionId))
  }

  function ask(sessionId: string): void {
    if (isDraining) return
    jobs.ask(laneOf(sessionId)).catch((cause) => report(sessionId, cause))
  }

  function report(sessionId: string, cause: unknown): void {
    const error = cause instanceof Error ? cause.message : String(cause)
    logger.error('a session could not be looked at; it is tried again', { session: sessionId, error })
  }

  return {
    async look(sessionId) {
      running += 1
      try {
        await workOff(sessionId)
      } catch (cause) {
        report(sessionId, cause)
        await lookLater(sessionId, troubleMs)
      } finally {
        running -= 1
        if (isDraining && running === 0) drained?.()
      }
    },
    add({ sessionId, immediate }) {
      if (immediate || debounceMs === 0) jobs.hurry(kind)
      else clock.after(debounceMs, () => ask(sessionId))
    },
    runNow: () => false,
    addResume: ({ sessionId }) => ask(sessionId),
    move: () => jobs.hurry(kind),
    load: () => ({ running, waiting: 0 }),
    waitingIn: () => 0,
    drain() {
      isDraining = true
      return running === 0 ? Promise.resolve() : new Promise((resolve) => (drained = resolve))
    },
  }
}
