import type { Clock } from '../base/clock.ts'
import type { InboxMessage } from '../sessions/inbox.ts'
import type { Session } from '../sessions/sessions.ts'
import { joinable, quietTime } from './joinable.ts'

/**
 * One thing for a session to do: a turn that was interrupted, messages that make a new one, or a message that is not yet
 * written and begins its turn with its own admission.
 */
export type TurnJob =
  | { kind: 'resume'; userId: string; turnId: string }
  | { kind: 'messages'; userId: string; messages: InboxMessage[] }
  | { kind: 'draft'; session: Session; draft: InboxMessage; written: PromiseWithResolvers<void> }

/** What became of a job: `retry` puts it back at the head of its session after a while (storage was full). */
export type JobResult = 'done' | 'suspended' | { retryAfterMs: number; job: TurnJob }

/**
 * Who runs when. The jobs of one session run one after another in order of arrival; sessions run side by side up to
 * the limit, first come first served. Quick messages of one sender are joined; one marked immediate never is.
 */
export interface TurnQueue {
  add(message: InboxMessage): void
  /** Runs the job now if nothing else of its session runs or waits and the limit allows; otherwise false. */
  runNow(sessionId: string, job: TurnJob): boolean
  addResume(turn: { sessionId: string; userId: string; turnId: string }): void
  /** Moves what waits in one session to another. */
  move(fromSessionId: string, toSessionId: string): void
  load(): { running: number; waiting: number }
  waitingIn(sessionId: string): number
  /** Begins nothing further; resolves when nothing runs. */
  drain(): Promise<void>
}

interface SessionQueue {
  resumes: { userId: string; turnId: string }[]
  messages: InboxMessage[]
  running: boolean
  ready: boolean
  cancelTimer: (() => void) | undefined
}

export function createTurnQueue(dependencies: {
  clock: Clock
  debounceMs: number
  maxConcurrent: number
  /** Never rejects. */
  run(sessionId: string, job: TurnJob): Promise<JobResult>
}): TurnQueue {
  const { clock, debounceMs, maxConcurrent, run } = dependencies
  const sessions = new Map<string, SessionQueue>()
  const ready: string[] = []
  let running = 0
  let draining = false
  let drained: (() => void) | undefined

  function queueOf(sessionId: string): SessionQueue {
    const known = sessions.get(sessionId)
    if (known) return known
    const queue: SessionQueue = { resumes: [], messages: [], running: false, ready: false, cancelTimer: undefined }
    sessions.set(sessionId, queue)
    return queue
  }

  /** Lets the session run as soon as its head may: at once, or when its sender has been quiet long enough. */
  function consider(sessionId: string): void {
    const queue = queueOf(sessionId)
    if (queue.running || queue.ready || draining) return
    queue.cancelTimer?.()
    queue.cancelTimer = undefined
    const wait = queue.resumes.length > 0 ? 0 : quietTime(queue.messages, { debounceMs, now: clock.now() })
    if (wait === undefined) {
      sessions.delete(sessionId)
    } else if (wait > 0) {
      queue.cancelTimer = clock.after(wait, () => consider(sessionId))
    } else {
      queue.ready = true
      ready.push(sessionId)
      launch()
    }
  }

  function launch(): void {
    while (running < maxConcurrent && !draining) {
      const sessionId = ready.shift()
      if (sessionId === undefined) return
      const queue = queueOf(sessionId)
      queue.ready = false
      const job = takeJob(queue)
      if (job) begin(sessionId, queue, job)
    }
  }

  function begin(sessionId: string, queue: SessionQueue, job: TurnJob): void {
    queue.running = true
    running += 1
    void run(sessionId, job).then((result) => finished(sessionId, queue, result))
  }

  function finished(sessionId: string, queue: SessionQueue, result: JobResult): void {
    running -= 1
    if (typeof result === 'object') {
      putBack(queue, result.job)
      // The session stays closed while it waits, so that nothing overtakes.
      queue.cancelTimer = clock.after(result.retryAfterMs, () => {
        queue.running = false
        consider(sessionId)
      })
    } else {
      queue.running = false
      consider(sessionId)
    }
    launch()
    if (draining && running === 0) drained?.()
  }

  return {
    add(message) {
      queueOf(message.sessionId).messages.push(message)
      consider(message.sessionId)
    },
    runNow(sessionId, job) {
      if (draining || running >= maxConcurrent || sessions.has(sessionId)) return false
      begin(sessionId, queueOf(sessionId), job)
      return true
    },
    addResume({ sessionId, userId, turnId }) {
      queueOf(sessionId).resumes.push({ userId, turnId })
      consider(sessionId)
    },
    move(fromSessionId, toSessionId) {
      const from = sessions.get(fromSessionId)
      if (!from) return
      const moved = from.messages.splice(0).map((message) => ({ ...message, sessionId: toSessionId }))
      queueOf(toSessionId).messages.push(...moved)
      consider(toSessionId)
    },
    load() {
      let waiting = 0
      for (const queue of sessions.values()) waiting += queue.messages.length + queue.resumes.length
      return { running, waiting }
    },
    waitingIn: (sessionId) => sessions.get(sessionId)?.messages.length ?? 0,
    drain() {
      draining = true
      for (const queue of sessions.values()) queue.cancelTimer?.()
      return running === 0 ? Promise.resolve() : new Promise((resolve) => (drained = resolve))
    },
  }
}

function takeJob(queue: SessionQueue): TurnJob | undefined {
  const interrupted = queue.resumes.shift()
  if (interrupted) return { kind: 'resume', ...interrupted }
  const head = queue.messages[0]
  if (!head) return undefined
  return { kind: 'messages', userId: head.userId, messages: queue.messages.splice(0, joinable(queue.messages).length) }
}

function putBack(queue: SessionQueue, job: TurnJob): void {
  if (job.kind === 'resume') queue.resumes.unshift(job)
  else if (job.kind === 'messages') queue.messages.unshift(...job.messages)
}
