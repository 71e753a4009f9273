import { type SqlBool, sql } from 'kysely'
import { z } from 'zod'
import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/logger.ts'
import { reasonOf } from '../base/text.ts'
import { createSharedWakeups, type Lane } from '../fleet/fleet.ts'
import type { Fleet, LaneJobs, Notices } from '../fleet/join-fleet.ts'
import type { TurnEvent } from '../protocol/events.ts'
import type { Json } from '../protocol/messages.ts'
import type { Database, Reader, Writer } from '../storage/database.ts'
import {
  type Coordination,
  HeldElsewhere,
  joinable,
  type QueueDepth,
  type QueueOptions,
  quietTime,
  type TurnJob,
  type TurnKind,
  type TurnQueue,
  turnKindOf,
} from './coordination.ts'
import type { LiveResponses } from './event-stream.ts'
import type { Inbox } from './sessions/inbox.ts'

const stopSchema = z.object({ sessionId: z.string(), turnId: z.string() })
const maxCallMs = 60 * 60_000

/** The turns of several daemons on one PostgreSQL: any of them admits a message, and one with a free place runs its turn. */
export function createFleetCoordination(dependencies: {
  fleet: Fleet
  database: Database
  /** Looked up at every use: the inbox needs the coordination first. */
  inbox: () => Inbox
  debounceMs: () => number
  maxQueued: () => number
  /** Before a turn of a sub-agent runs here: another daemon may have spawned it. */
  beforeHelper(): Promise<void>
  clock: Clock
  logger: Logger
}): Coordination {
  const { fleet, database, inbox, debounceMs, maxQueued, clock, logger } = dependencies
  const { jobs, notices } = fleet
  const holders = createSessionHolders(database, fleet.daemonId)
  const queues = new Map<TurnKind, { atOnce: number; look(sessionId: string): Promise<void> }>()

  const laneOf = (sessionId: string, channel: string): Lane => ({ kind: turnKindOf(channel), id: sessionId })

  return {
    stateIn: 'tables',
    createQueue(kind, options) {
      const queue = createSharedTurnQueue({ ...options, kind, jobs, holders, logger, inbox })
      queues.set(kind, { atOnce: options.maxConcurrent, look: queue.look })
      return queue
    },
    createWakeups: (name) => createSharedWakeups(notices, name),
    shareLive: (live, options) => shareLiveResponses(live, { ...options, notices }),
    depth: createSharedDepth({ database, clock, most: maxQueued }),
    async onAdmitted(writer, { sessionId, source, immediate, receivedAt }) {
      const isJoined = !immediate && debounceMs() > 0
      const when = isJoined ? { notBefore: receivedAt + debounceMs() } : {}
      // The source of work in the background is its channel.
      await jobs.askIn(writer, laneOf(sessionId, source), when)
    },
    onMoved: (writer, { id, channel }) => jobs.askIn(writer, laneOf(id, channel)),
    guard: holders.requireIn,
    isHere: holders.has,
    runningElsewhere: async (sessionId) => (await inbox().openIn(sessionId))?.turnId,
    tellStop: (turn) => notices.publish('stop', { ...turn }),
    onStop(listener) {
      notices.on('stop', (data) => {
        const turn = stopSchema.safeParse(data)
        if (turn.success) listener(turn.data)
      })
    },
    async recover(stores) {
      // Calls of other daemons are theirs; a call that is older than any call can be belongs to a daemon that died.
      await stores.ledger.closeInterrupted({ before: clock.now() - maxCallMs })
      const lanes = await stores.inbox.openLanes()
      for (const { sessionId, channel } of lanes) await jobs.ask(laneOf(sessionId, channel))
      return { resumedTurns: 0, queuedMessages: lanes.length }
    },
    async start() {
      if (fleet.role === 'api') return
      for (const [kind, { atOnce, look }] of queues) {
        const prepared = async (sessionId: string) => {
          if (kind === 'helpers') await dependencies.beforeHelper()
          await look(sessionId)
        }
        await jobs.work(kind, { atOnce, look: prepared })
      }
    },
  }
}

/** A watcher says again and again that it is there; one that has not for this long is gone. */
const sayAgainMs = 10_000
const forgetMs = 25_000
/** Text that streams in goes out together this often. */
const sendMs = 40
/** Of a notice. Every character may take six bytes. */
const maxCharacters = 1_200

const session = z.string()
const kind = z.enum(['text', 'thinking'])
const watchSchema = z.object({ session })
const liveSchema = z.discriminatedUnion('do', [
  z.object({ do: z.literal('begin'), session, turn: z.string(), after: z.number() }),
  z.object({ do: z.literal('add'), session, from: z.number(), kind, text: z.string() }),
  z.object({ do: z.literal('end'), session }),
  z.object({ do: z.literal('progress'), session, event: z.json() }),
])

/**
 * Streams responses to watchers at other daemons. A daemon announces its watchers; the one that runs the turn sends it
 * the response so far, then the new pieces. Responses without a watcher are not sent.
 *
 * A lost piece is repaired quickly: the log contains the response as soon as it is complete.
 */
function shareLiveResponses(
  live: LiveResponses,
  { notices, clock, wake }: { notices: Notices; clock: Clock; wake(sessionId: string): void },
): LiveResponses {
  /** Sessions that are watched elsewhere, until when. */
  const watchedElsewhere = new Map<string, number>()
  const watchedHere = new Map<string, number>()
  /** Sessions whose turn runs here, with the length of the response that was sent. */
  const told = new Map<string, number>()
  const theirs = new Set<string>()
  let isSending = false
  let isSaying = false

  function isWatched(sessionId: string): boolean {
    return (watchedElsewhere.get(sessionId) ?? 0) > clock.now()
  }

  function publish(notice: z.infer<typeof liveSchema>): void {
    notices.publish('live', notice as Json)
  }

  function tellBeginning(sessionId: string): void {
    const response = live.get(sessionId)
    if (!response) return
    publish({ do: 'begin', session: sessionId, turn: response.turnId, after: response.afterSeq })
    told.set(sessionId, 0)
    tellRest(sessionId)
  }

  function tellRest(sessionId: string): void {
    const response = live.get(sessionId)
    let from = told.get(sessionId)
    if (!response || from === undefined) return
    let start = 0
    for (const { kind, text } of response.parts) {
      const end = start + text.length
      for (let at = Math.max(from, start); at < end; ) {
        const piece = text.slice(at - start, at - start + maxCharacters)
        publish({ do: 'add', session: sessionId, from: at, kind, text: piece })
        at += piece.length
        from = at
      }
      start = end
    }
    told.set(sessionId, from)
  }

  function sendSoon(): void {
    if (isSending) return
    isSending = true
    clock.after(sendMs, () => {
      isSending = false
      for (const sessionId of told.keys()) if (isWatched(sessionId)) tellRest(sessionId)
    })
  }

  function sayWatched(): void {
    for (const session of watchedHere.keys()) notices.publish('watch', { session })
    isSaying = watchedHere.size > 0
    if (isSaying) clock.after(sayAgainMs, sayWatched)
  }

  notices.on('watch', (data) => {
    const watch = watchSchema.safeParse(data)
    if (!watch.success) return
    const { session } = watch.data
    const isNew = !isWatched(session)
    watchedElsewhere.set(session, clock.now() + forgetMs)
    if (told.has(session)) isNew ? tellBeginning(session) : tellRest(session)
  })
  notices.on('live', (data) => {
    const heard = liveSchema.safeParse(data)
    if (heard.success && watchedHere.has(heard.data.session) && !told.has(heard.data.session)) follow(heard.data)
  })
  notices.onGap(() => {
    for (const session of theirs) live.end(session)
    theirs.clear()
    sayWatched()
  })

  function follow(heard: z.infer<typeof liveSchema>): void {
    const { session } = heard
    if (heard.do === 'begin') {
      theirs.add(session)
      live.begin(session, heard.turn, heard.after)
    } else if (heard.do === 'add') {
      // The start of a response is sent to all watchers; a piece that does not follow the last one waits for the log.
      if (live.get(session)?.length === heard.from) live.add(session, heard.kind, heard.text)
    } else if (heard.do === 'end') {
      theirs.delete(session)
      live.end(session)
    } else {
      live.progress(session, heard.event as Extract<TurnEvent, { type: 'tool_progress' }>)
      wake(session)
    }
  }

  return {
    begin(sessionId, turnId, afterSeq) {
      live.begin(sessionId, turnId, afterSeq)
      theirs.delete(sessionId)
      told.set(sessionId, 0)
      if (isWatched(sessionId)) tellBeginning(sessionId)
    },
    add(sessionId, kind, text) {
      live.add(sessionId, kind, text)
      if (isWatched(sessionId)) sendSoon()
    },
    end(sessionId) {
      if (isWatched(sessionId)) {
        tellRest(sessionId)
        publish({ do: 'end', session: sessionId })
      } else watchedElsewhere.delete(sessionId)
      told.delete(sessionId)
      live.end(sessionId)
    },
    get: live.get,
    progress(sessionId, event) {
      live.progress(sessionId, event)
      if (isWatched(sessionId)) publish({ do: 'progress', session: sessionId, event: event as Json })
    },
    onProgress(sessionId, listener) {
      watchedHere.set(sessionId, (watchedHere.get(sessionId) ?? 0) + 1)
      notices.publish('watch', { session: sessionId })
      if (!isSaying) clock.after(sayAgainMs, sayWatched)
      isSaying = true
      const unwatch = live.onProgress(sessionId, listener)
      return () => {
        unwatch()
        const left = (watchedHere.get(sessionId) ?? 1) - 1
        if (left > 0) watchedHere.set(sessionId, left)
        else watchedHere.delete(sessionId)
        if (left === 0 && theirs.delete(sessionId)) live.end(sessionId)
      }
    },
  }
}

const troubleMs = 2_000

/**
 * The turn queue over all daemons: each session is a lane, and the daemon that looks at a lane reads its work from the
 * inbox. Nothing waits in memory, so no work is lost with a daemon.
 */
function createSharedTurnQueue(
  dependencies: QueueOptions & {
    kind: TurnKind
    jobs: LaneJobs
    inbox: () => Inbox
    holders: Pick<SessionHolders, 'take'>
    logger: Logger
  },
): TurnQueue & { look(sessionId: string): Promise<void> } {
  const { kind, jobs, inbox, holders, clock, logger, debounceMs, run } = dependencies
  let running = 0
  let isDraining = false
  let drained: (() => void) | undefined
  const laneOf = (id: string): Lane => ({ kind, id })

  async function nextIn(sessionId: string): Promise<{ job: TurnJob } | { waitMs: number } | undefined> {
    const open = await inbox().openIn(sessionId)
    if (!open) return undefined
    const { userId, turnId, queued } = open
    if (turnId !== undefined) return { job: { kind: 'resume', userId, turnId } }
    const waitMs = quietTime(queued, { debounceMs: debounceMs(), now: clock.now() })
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
    // A daemon with a free place continues.
    await jobs.ask(laneOf(sessionId))
  }

  /** The job is also in the database; the timer only avoids waiting for the next poll. */
  async function lookLater(sessionId: string, waitMs: number): Promise<void> {
    await jobs.ask(laneOf(sessionId), { notBefore: clock.now() + waitMs })
    clock.after(waitMs, () => ask(sessionId))
  }

  function ask(sessionId: string): void {
    if (isDraining) return
    jobs.ask(laneOf(sessionId)).catch((cause) => report(sessionId, cause))
  }

  function report(sessionId: string, cause: unknown): void {
    logger.error('could not check a session; will retry', { session: sessionId, error: reasonOf(cause) })
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
      if (immediate || debounceMs() === 0) jobs.hurry(kind)
      else clock.after(debounceMs(), () => ask(sessionId))
    },
    runNow: () => false,
    addResume: ({ sessionId }) => ask(sessionId),
    move: () => jobs.hurry(kind),
    // The inbox is read again before each turn.
    remove: () => {},
    load: () => ({ running, waiting: 0 }),
    waitingIn: () => 0,
    drain() {
      isDraining = true
      return running === 0 ? Promise.resolve() : new Promise((resolve) => (drained = resolve))
    },
  }
}

const freshMs = 1_000

/**
 * The queue length if several daemons fill one queue: read from the tables. The messages of a session are counted in
 * the unit, because its limit must be exact. The total is counted outside, once a second: inside the unit, all messages
 * would conflict with each other.
 */
export function createSharedDepth(dependencies: {
  database: Pick<Database, 'read'>
  clock: Clock
  /** Counting goes no further than this. */
  most: () => number
}): QueueDepth {
  const { database, clock, most } = dependencies
  let known = 0
  let countedAt = Number.NEGATIVE_INFINITY

  return {
    here: (sessionId, writer) => countQueued(writer, { sessionId, most: most() }),
    inAll() {
      if (clock.now() - countedAt >= freshMs) {
        countedAt = clock.now()
        // A failed count leaves the one before: the database itself refuses then.
        countQueued(database.read, { most: most() }).then(
          (count) => (known = count),
          () => {},
        )
      }
      return known
    },
  }
}

async function countQueued(reader: Reader, asked: { sessionId?: string; most: number }): Promise<number> {
  const { sessionId, most } = asked
  const rows = await reader
    .selectFrom((from) =>
      from
        .selectFrom('inbox')
        .select('id')
        // Stated in addition to the state, so that the partial index over open rows is used.
        .where(sql<SqlBool>`state != 'done'`)
        .where('state', '=', 'queued')
        .$if(sessionId !== undefined, (query) => query.where('session_id', '=', sessionId ?? ''))
        .limit(most)
        .as('waiting'),
    )
    .select((select) => select.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return Number(rows.count)
}

type SessionHolders = ReturnType<typeof createSessionHolders>

/**
 * The daemon that runs the turns of a session, if several share the work. A daemon that was wrongly considered dead
 * finds out here, in the unit in which it would have written to the turn.
 */
export function createSessionHolders(database: Pick<Database, 'read' | 'write'>, daemonId: string) {
  async function has(sessionId: string): Promise<boolean> {
    const holder = await holderOf(database.read, sessionId).executeTakeFirst()
    return holder?.daemon_id === daemonId
  }

  return {
    has,
    async take(sessionId: string) {
      // Usually this daemon already holds it. `requireIn` detects that another one took it.
      if (await has(sessionId)) return
      await database.write(
        (writer) =>
          writer
            .insertInto('session_holders')
            .values({ session_id: sessionId, daemon_id: daemonId })
            .onConflict((conflict) => conflict.column('session_id').doUpdateSet({ daemon_id: daemonId }))
            .execute(),
        { meets: 'rows' },
      )
    },
    /** Throws `HeldElsewhere` where it is another one. */
    async requireIn(writer: Writer, sessionId: string) {
      // Locked until the unit ends: who takes the session waits for it, and so reads what it has written.
      const holder = await holderOf(writer, sessionId).forShare().executeTakeFirst()
      if (holder?.daemon_id !== daemonId) throw new HeldElsewhere(sessionId)
    },
  }
}

function holderOf(reader: Reader, sessionId: string) {
  return reader.selectFrom('session_holders').select('daemon_id').where('session_id', '=', sessionId)
}
