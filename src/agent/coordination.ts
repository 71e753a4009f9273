import type { Clock } from '../base/clock.ts'
import { createWakeups, type Wakeups } from '../base/work.ts'
import { FamiliarError } from '../protocol/errors.ts'
import { isWorkChannel, subagentChannel } from '../protocol/messages.ts'
import type { Writer } from '../storage/database.ts'
import type { LiveResponses } from './event-stream.ts'
import type { Ledger } from './ledger.ts'
import type { Inbox, InboxMessage } from './sessions/inbox.ts'
import type { Session } from './sessions/sessions.ts'

/** Each kind has its own limit, so that builds and sub-agents never take the place of a conversation. */
export type TurnKind = 'talk' | 'work' | 'helpers'

export function turnKindOf(channel: string): TurnKind {
  if (channel === subagentChannel) return 'helpers'
  return isWorkChannel(channel) ? 'work' : 'talk'
}

interface RunningTurn {
  sessionId: string
  turnId: string
}

export interface QueueOptions {
  clock: Clock
  debounceMs: () => number
  maxConcurrent: number
  /** Never rejects. */
  run(sessionId: string, job: TurnJob): Promise<JobResult>
}

export interface QueueDepth {
  /** In one session. It is called inside a write unit, so it may only wait for its own statements. */
  here(sessionId: string, writer: Writer): number | Promise<number>
  /** In all sessions, as of a moment ago. */
  inAll(): number
}

/**
 * How the daemons of one database divide the turns among them. `createSoleDaemon` is the implementation for one daemon,
 * `createFleetCoordination` the one for several. Nothing else in this folder knows which of them is in use.
 */
export interface Coordination {
  /** The place of the current state: the memory of this process, or only the tables because other daemons write too. */
  readonly stateIn: 'memory' | 'tables'
  createQueue(kind: TurnKind, options: QueueOptions): TurnQueue
  createWakeups(name: string): Wakeups
  /** Responses that also reach watchers at other daemons. */
  shareLive(live: LiveResponses, options: { clock: Clock; wake(sessionId: string): void }): LiveResponses
  readonly depth: QueueDepth
  onAdmitted(writer: Writer, message: InboxMessage): Promise<void> | undefined
  /** In the unit that moves waiting messages to the session. */
  onMoved(writer: Writer, session: Pick<Session, 'id' | 'channel'>): Promise<void> | undefined
  /** In every unit that writes to a turn: throws `HeldElsewhere` where another daemon runs the session. */
  guard(writer: Writer, sessionId: string): Promise<void> | undefined
  isHere(sessionId: string): Promise<boolean>
  runningElsewhere(sessionId: string): Promise<string | undefined>
  tellStop(turn: RunningTurn): void
  onStop(listener: (turn: RunningTurn) => void): void
  recover(stores: { inbox: Inbox; ledger: Ledger }): Promise<{ resumedTurns: number; queuedMessages: number }>
  /** Starts to take turns from the shared queue. Everything that a turn needs has started before. */
  start(): Promise<void>
}

/** Another daemon runs the turns of the session now: this one may write nothing more to them. */
export class HeldElsewhere extends FamiliarError {
  constructor(sessionId: string) {
    super('conflict', `Session ${sessionId} is held by another daemon`)
  }
}

/** One daemon with its own database: the queue is in memory, and every turn runs here. */
export function createSoleDaemon(): Coordination {
  const queues = new Map<TurnKind, TurnQueue>()
  const queueOf = (channel: string) => queues.get(turnKindOf(channel))

  return {
    stateIn: 'memory',
    createQueue(kind, options) {
      const queue = createTurnQueue(options)
      queues.set(kind, queue)
      return queue
    },
    createWakeups: () => createWakeups(),
    shareLive: (live) => live,
    depth: {
      here: (sessionId) => queues.get('talk')?.waitingIn(sessionId) ?? 0,
      inAll: () => queues.get('talk')?.load().waiting ?? 0,
    },
    onAdmitted: () => undefined,
    onMoved: () => undefined,
    guard: () => undefined,
    isHere: async () => true,
    runningElsewhere: async () => undefined,
    tellStop() {},
    onStop() {},
    async recover({ inbox, ledger }) {
      await ledger.closeInterrupted()
      const interrupted = await inbox.interruptedTurns()
      const queued = await inbox.queued()
      for (const turn of interrupted) queueOf(turn.channel)?.addResume(turn)
      // The source of work in the background is its channel.
      for (const message of queued) queueOf(message.source)?.add(message)
      return { resumedTurns: interrupted.length, queuedMessages: queued.length }
    },
    async start() {},
  }
}

/**
 * One job of a session: a turn to resume, messages that make a new turn, or a message that is written together with the
 * start of its turn.
 */
export type TurnJob =
  | { kind: 'resume'; userId: string; turnId: string }
  | { kind: 'messages'; userId: string; messages: InboxMessage[] }
  | { kind: 'draft'; session: Session; draft: InboxMessage; written: PromiseWithResolvers<void> }

/** With `retryAfterMs` the job goes back to the head of its session's queue (storage was full). */
export type JobResult = 'done' | 'suspended' | { retryAfterMs: number; job: TurnJob }

/**
 * Decides when each turn runs. The jobs of one session run one after another in order of arrival; sessions run side by
 * side up to the limit, first come first served. Messages of one sender in quick succession are joined; a message marked
 * immediate never is.
 */
export interface TurnQueue {
  add(message: InboxMessage): void
  /** Runs the job now if nothing else of its session runs or waits and the limit allows; otherwise false. */
  runNow(sessionId: string, job: TurnJob): boolean
  addResume(turn: RunningTurn & { userId: string }): void
  move(fromSessionId: string, toSessionId: string): void
  /** Removes a canceled message. Does nothing where the message is not in the queue. */
  remove(message: { messageId: string; sessionId: string }): void
  load(): { running: number; waiting: number }
  waitingIn(sessionId: string): number
  /** Starts nothing more; resolves when nothing runs. */
  drain(): Promise<void>
}

interface SessionQueue {
  resumes: { userId: string; turnId: string }[]
  messages: InboxMessage[]
  running: boolean
  ready: boolean
  cancelTimer: (() => void) | undefined
}

function createTurnQueue({ clock, debounceMs, maxConcurrent, run }: QueueOptions): TurnQueue {
  const sessions = new Map<string, SessionQueue>()
  const ready: string[] = []
  let running = 0
  let draining = false
  let drained: (() => void) | undefined

  function queueOf(sessionId: string): SessionQueue {
    const queue = sessions.get(sessionId) ?? {
      resumes: [],
      messages: [],
      running: false,
      ready: false,
      cancelTimer: undefined,
    }
    sessions.set(sessionId, queue)
    return queue
  }

  /** Lets the session run as soon as its head may: at once, or when its sender has been quiet long enough. */
  function consider(sessionId: string): void {
    const queue = queueOf(sessionId)
    if (queue.running || queue.ready || draining) return
    queue.cancelTimer?.()
    queue.cancelTimer = undefined
    const wait =
      queue.resumes.length > 0 ? 0 : quietTime(queue.messages, { debounceMs: debounceMs(), now: clock.now() })
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
    remove({ messageId, sessionId }) {
      const queue = sessions.get(sessionId)
      if (!queue) return
      queue.messages = queue.messages.filter(({ id }) => id !== messageId)
      consider(sessionId)
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

function takeJob({ resumes, messages }: SessionQueue): TurnJob | undefined {
  const interrupted = resumes.shift()
  if (interrupted) return { kind: 'resume', ...interrupted }
  const [head] = messages
  return head && { kind: 'messages', userId: head.userId, messages: messages.splice(0, joinable(messages).length) }
}

function putBack(queue: SessionQueue, job: TurnJob): void {
  if (job.kind === 'resume') queue.resumes.unshift(job)
  else if (job.kind === 'messages') queue.messages.unshift(...job.messages)
}

export function joinable(messages: readonly InboxMessage[]): InboxMessage[] {
  const head = messages[0]
  if (!head) return []
  if (head.immediate) return [head]
  const other = messages.findIndex(
    (message) =>
      message.immediate ||
      message.sender !== head.sender ||
      message.source !== head.source ||
      message.label !== head.label ||
      message.tier !== head.tier,
  )
  return other === -1 ? [...messages] : messages.slice(0, other)
}

/** The remaining quiet time before the messages at the head become a turn; undefined if the queue is empty. */
export function quietTime(
  messages: readonly InboxMessage[],
  { debounceMs, now }: { debounceMs: number; now: number },
): number | undefined {
  const head = messages[0]
  if (!head) return undefined
  if (head.immediate || debounceMs === 0) return 0
  const batch = joinable(messages)
  const newest = batch.at(-1) ?? head
  // Something else waits behind the batch: no further message can join it.
  if (batch.length < messages.length) return 0
  // Bounded above too: after a clock was set back the newest message may seem to come from the future.
  return Math.min(debounceMs, Math.max(0, newest.receivedAt + debounceMs - now))
}
