import type { LoggedEvent } from '../agent/sessions/session-event.ts'
import { forkedAt, type SessionLog } from '../agent/sessions/session-log.ts'
import type { Session } from '../agent/sessions/sessions.ts'
import type { Clock } from '../base/clock.ts'
import { camelKeys } from '../base/json.ts'
import type { Logger } from '../base/logger.ts'
import { type Database, reusableQuery } from '../storage/database.ts'
import type { Outbox } from './create-outbox.ts'
import { type OutgoingItem, setMark } from './outbox.ts'

/** The immutable properties of a session. */
export type DeliverySession = Pick<Session, 'id' | 'userId' | 'channel' | 'contact'>

export interface DeliveryChannel {
  channel: string
  /** Decided by immutable properties, so it is asked once per session. */
  wants(session: DeliverySession): boolean
  /** The items of the events, in order. Called again after a crash, it must make the same keys. Read-only. */
  toItems(session: DeliverySession, events: readonly LoggedEvent[]): Promise<OutgoingItem[]>
}

const since = 'delivers_since'
const isOff = 'is_off'
/** How much of a time when the channel was off is delivered later. */
const dayMs = 24 * 60 * 60_000

/**
 * The time from which each channel delivers: its first use, or, after being off, a day before it is on again. A stopped
 * daemon misses nothing: undelivered messages are delivered however old.
 */
async function markBeginnings(
  { database, clock }: { database: Database; clock: Clock },
  channels: readonly string[],
): Promise<Map<string, number>> {
  const now = clock.now()
  return await database.write(async (writer) => {
    const marks = await writer.selectFrom('channel_marks').selectAll().where('name', 'in', [since, isOff]).execute()
    const markOf = (channel: string, name: string) =>
      marks.find((mark) => mark.channel === channel && mark.name === name)?.value
    for (const { channel, name } of marks) {
      if (name === since && !channels.includes(channel))
        await setMark(writer, { channel, name: isOff, value: 'yes', now })
    }
    const beginnings = new Map<string, number>()
    for (const channel of channels) {
      const known = markOf(channel, since)
      const wasOff = markOf(channel, isOff) !== undefined
      const beginning = known === undefined ? now : wasOff ? Math.max(Number(known), now - dayMs) : Number(known)
      beginnings.set(channel, beginning)
      if (String(beginning) !== known) await setMark(writer, { channel, name: since, value: String(beginning), now })
      if (wasOff) {
        await writer.deleteFrom('channel_marks').where('channel', '=', channel).where('name', '=', isOff).execute()
      }
    }
    return beginnings
  })
}

/** How far a channel has delivered a session. A fork starts after its copied part, which was said elsewhere. */
async function readCursor(database: Database, channel: string, sessionId: string): Promise<number> {
  const { rows } = await selectCursor(database.read, { channel, sessionId })
  return rows[0] ? Number(rows[0].seq) : forkedAt(database.read, sessionId)
}

/** The sessions with events since `since` that the channel has not processed, oldest first. */
async function selectBehind(database: Database, channel: string, since: number): Promise<DeliverySession[]> {
  const rows = await database.read
    .selectFrom('sessions')
    .leftJoin('delivery_cursors', (join) =>
      join.onRef('delivery_cursors.session_id', '=', 'sessions.id').on('delivery_cursors.channel', '=', channel),
    )
    .select(['sessions.id', 'sessions.user_id', 'sessions.channel', 'sessions.contact'])
    .where('sessions.updated_at', '>=', since)
    .where((where) => where('sessions.last_seq', '>', where.fn.coalesce('delivery_cursors.seq', where.lit(0))))
    .orderBy('sessions.updated_at')
    .execute()
  return rows.map(camelKeys)
}

async function findSession(database: Database, sessionId: string): Promise<DeliverySession | undefined> {
  const row = await database.read
    .selectFrom('sessions')
    .select(['id', 'user_id', 'channel', 'contact'])
    .where('id', '=', sessionId)
    .executeTakeFirst()
  return row && camelKeys(row)
}

interface CursorKey {
  channel: string
  sessionId: string
}

const selectCursor = reusableQuery((database, { channel, sessionId }: CursorKey) =>
  database
    .selectFrom('delivery_cursors')
    .select('seq')
    .where('channel', '=', channel)
    .where('session_id', '=', sessionId),
)

const upsertCursor = reusableQuery((database, { channel, sessionId, seq }: CursorKey & { seq: number }) =>
  database
    .insertInto('delivery_cursors')
    .values({ channel, session_id: sessionId, seq })
    .onConflict((conflict) => conflict.columns(['channel', 'session_id']).doUpdateSet({ seq })),
)

interface Place {
  /** Events without items do not need a commit: `written` may lag behind `seen`. */
  written: number
  seen: number
}

interface Wanted {
  session: DeliverySession
  places: { channel: DeliveryChannel; place: Place }[]
}

const pageSize = 100
/** The maximum number of events that are processed again after a crash. */
const maxUnwritten = 500
const maxRemembered = 10_000
const pauseAfterErrorMs = 5_000

export type Deliveries = ReturnType<typeof createDeliveries>

/**
 * Copies sessions' messages into the outbox, once, in order (OUT-2). Items and progress are written in one unit, so
 * that a crash only delays it.
 */
export function createDeliveries(dependencies: {
  database: Database
  log: Pick<SessionLog, 'read' | 'onAnyChange'>
  outbox: Pick<Outbox, 'putIn' | 'wake'>
  clock: Clock
  logger: Logger
}) {
  const { database, log, outbox, clock, logger } = dependencies
  const stop = new AbortController()
  const changed = new Set<string>()
  /** By session; null if no channel wants it. */
  const known = new Map<string, Wanted | null>()
  let channels: readonly DeliveryChannel[] = []
  let beginnings: ReadonlyMap<string, number> = new Map()
  let isCatchingUp = true
  let running: Promise<void> | undefined
  let unfollow = () => {}

  /** Called after every commit to every log: it must cost nothing for unwanted sessions. */
  function notice(sessionId: string): void {
    if (known.get(sessionId) === null) return
    changed.add(sessionId)
    begin()
  }

  function begin(): void {
    if (running || stop.signal.aborted) return
    running = work().finally(() => {
      running = undefined
      // Events may have arrived since the last check.
      if (changed.size > 0) begin()
    })
  }

  /** Checks for missed events. Does nothing before `start`. */
  async function catchUp(): Promise<void> {
    for (const channel of channels) {
      const behind = await selectBehind(database, channel.channel, beginnings.get(channel.channel) ?? 0)
      for (const session of behind) if (channel.wants(session)) changed.add(session.id)
    }
    begin()
  }

  async function work(): Promise<void> {
    for (const sessionId of changed) {
      if (stop.signal.aborted) return
      changed.delete(sessionId)
      try {
        await deliver(sessionId)
      } catch (error) {
        if (stop.signal.aborted) return
        logger.error('could not queue messages of a session; will retry', { sessionId, error })
        known.delete(sessionId)
        // Separately, so that other sessions do not wait for it.
        clock.after(pauseAfterErrorMs, () => notice(sessionId))
      }
    }
    isCatchingUp = false
  }

  async function deliver(sessionId: string): Promise<void> {
    const wanted = await findWanted(sessionId)
    if (!wanted) return
    for (const { channel, place } of wanted.places) {
      while (!stop.signal.aborted && (await deliverPage(channel, wanted.session, place))) {}
    }
  }

  /** True if there may be more. */
  async function deliverPage(channel: DeliveryChannel, session: DeliverySession, place: Place): Promise<boolean> {
    const { events, damaged } = await log.read(session.id, { after: place.seen, limit: pageSize })
    if (events.length + damaged === 0) return false
    // The sequence of a log has no gaps, and an unreadable row must not block the others.
    const to = Math.max(place.seen + events.length + damaged, events.at(-1)?.seq ?? 0)
    const beginning = beginnings.get(channel.channel) ?? Number.POSITIVE_INFINITY
    const fresh = events.filter(({ at }) => at >= beginning)
    const items = await channel.toItems(session, fresh)
    if (items.length > 0 || isCatchingUp || to - place.written >= maxUnwritten) {
      await database.write(async (writer) => {
        await upsertCursor(writer, { channel: channel.channel, sessionId: session.id, seq: to })
        await outbox.putIn(writer, items)
      })
      place.written = to
    }
    place.seen = to
    if (items.length > 0) outbox.wake()
    return events.length + damaged === pageSize
  }

  async function findWanted(sessionId: string): Promise<Wanted | null> {
    const remembered = known.get(sessionId)
    if (remembered !== undefined) return remembered
    const session = await findSession(database, sessionId)
    if (!session) return null
    const places = await Promise.all(
      channels
        .filter((channel) => channel.wants(session))
        .map(async (channel) => {
          const written = await readCursor(database, channel.channel, sessionId)
          return { channel, place: { written, seen: written } }
        }),
    )
    const wanted = places.length > 0 ? { session, places } : null
    if (known.size >= maxRemembered) known.clear()
    known.set(sessionId, wanted)
    return wanted
  }

  return {
    /** Catches up, and then follows the log. Other channels deliver nothing. */
    async start(given: readonly DeliveryChannel[]) {
      channels = given
      const names = channels.map(({ channel }) => channel)
      beginnings = await markBeginnings({ database, clock }, names)
      unfollow = log.onAnyChange(notice)
      await catchUp()
    },
    catchUp,
    /** Resolves when everything that is in the log by now is processed. */
    async settle() {
      while (running && !stop.signal.aborted) await running
    },
    async close() {
      unfollow()
      stop.abort()
      await running
    },
  }
}
