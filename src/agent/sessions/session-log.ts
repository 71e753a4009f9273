import { type SqlBool, sql } from 'kysely'
import type { Clock } from '../../base/clock.ts'
import { pick } from '../../base/json.ts'
import type { Wakeups } from '../../base/work.ts'
import { FamiliarError } from '../../protocol/errors.ts'
import { type Database, type Reader, reusableQuery, type Writer } from '../../storage/database.ts'
import type { SessionEventRow } from '../../storage/tables.ts'
import { isJump, type Jump, jumpTypes, type Range, type TurnPlace } from './branches.ts'
import { eventFromRow, type LoggedEvent, type SessionEvent } from './session-event.ts'

interface LogTarget {
  sessionId: string
  turnId: string | null
  lastInputTokens?: number
}

export type SessionLog = ReturnType<typeof createSessionLog>

/** The append-only log of every session. An event is durable, and seen by readers, only when `record` resolves. */
export function createSessionLog(dependencies: {
  database: Database
  clock: Clock
  /** Their topics are the ids of sessions. */
  wakeups: Wakeups
}) {
  const { database, clock, wakeups } = dependencies
  const eventsOf = (sessionId: string) =>
    database.read
      .selectFrom('session_events')
      .select(['seq', 'turn_id', 'at', 'type', 'data'])
      .where('session_id', '=', sessionId)

  const log = {
    /** Appends the events and, in the same commit, the writes of `also`. All or nothing. */
    record: (target: LogTarget, events: readonly SessionEvent[], also?: (writer: Writer) => Promise<void>) =>
      log.decide(target, async (writer) => {
        if (also) await also(writer)
        return events
      }),
    /** The same if only the unit itself can decide which events to append. */
    async decide(
      target: LogTarget,
      unit: (writer: Writer) => Promise<readonly SessionEvent[]>,
    ): Promise<LoggedEvent[]> {
      const logged = await database.write(async (writer) => {
        const events = await unit(writer)
        return events.length === 0 ? [] : appendEvents(writer, { ...target, events, at: clock.now() })
      })
      wakeups.wake(target.sessionId)
      return logged
    },
    /** Events after `after`, in order. Damaged rows are left out and counted. */
    async read(sessionId: string, range: { after?: number; limit?: number } = {}) {
      let query = eventsOf(sessionId)
        .where('seq', '>', range.after ?? 0)
        .orderBy('seq')
      if (range.limit !== undefined) query = query.limit(range.limit)
      const rows = await query.execute()
      const events = rows.map(eventFromRow).filter((event) => event !== undefined)
      return { events, damaged: rows.length - events.length }
    },
    /** The newest events, of those before `before` where that is given; in order. */
    async readBack(
      sessionId: string,
      { before, after, limit }: { before?: number | undefined; after?: number; limit: number },
    ) {
      let query = eventsOf(sessionId)
      if (after !== undefined) query = query.where('seq', '>', after)
      if (before !== undefined) query = query.where('seq', '<', before)
      const rows = await query.orderBy('seq', 'desc').limit(limit).execute()
      return rows
        .reverse()
        .map(eventFromRow)
        .filter((event) => event !== undefined)
    },
    /** The events after which the conversation continues somewhere else, in order. */
    async readJumps(sessionId: string): Promise<Jump[]> {
      const rows = await eventsOf(sessionId).where(isJumpRow).orderBy('seq').execute()
      return rows
        .map(eventFromRow)
        .filter((event) => event !== undefined)
        .filter(isJump)
    },
    /** The newest events of a part of the log, of those before `before` where that is given; in order. */
    async readBackOn(
      sessionId: string,
      {
        path,
        before = Number.MAX_SAFE_INTEGER,
        limit,
      }: { path: readonly Range[]; before?: number | undefined; limit: number },
    ): Promise<LoggedEvent[]> {
      const found: LoggedEvent[] = []
      for (const { first, through } of path.toReversed()) {
        if (found.length >= limit) break
        if (first >= before) continue
        const events = await log.readBack(sessionId, {
          after: first - 1,
          before: Math.min(before, through + 1),
          limit: limit - found.length,
        })
        found.unshift(...events)
      }
      return found
    },
    /** The first message of every turn. */
    async readTurnPlaces(sessionId: string): Promise<TurnPlace[]> {
      const rows = await database.read
        .selectFrom('session_events')
        .select('turn_id')
        .select((select) => select.fn.min('seq').as('seq'))
        .where('session_id', '=', sessionId)
        .where('type', '=', 'message_received')
        .where('turn_id', 'is not', null)
        .groupBy('turn_id')
        .orderBy('seq')
        .execute()
      return rows.map(({ turn_id, seq }) => ({ turnId: turn_id ?? '', seq: Number(seq) }))
    },
    async readTurn(sessionId: string, turnId: string): Promise<LoggedEvent[]> {
      const rows = await eventsOf(sessionId).where('turn_id', '=', turnId).orderBy('seq').execute()
      return rows.map(eventFromRow).filter((event) => event !== undefined)
    },
    /** Woken after every commit to the session's log. */
    onChange: wakeups.on,
    onAnyChange: wakeups.onAny,
    wake: wakeups.wake,
    /** Those in this process: what changed is not in the log. */
    wakeHere: wakeups.wakeHere,
  }
  return log
}

/** The end of the part that a fork copied from another session, which was learned and delivered there; otherwise 0. */
export async function forkedAt(reader: Reader, sessionId: string): Promise<number> {
  const forked = await reader
    .selectFrom('session_events')
    .select((select) => select.fn.max('seq').as('seq'))
    .where('session_id', '=', sessionId)
    .where('type', '=', 'forked')
    .executeTakeFirst()
  return Number(forked?.seq ?? 0)
}

/** For units that write events beside other rows; takes the next places of the session's order. */
export async function appendEvents(
  writer: Writer,
  append: LogTarget & { events: readonly SessionEvent[]; at: number },
): Promise<LoggedEvent[]> {
  const { sessionId, turnId, events, at, lastInputTokens } = append
  const tokens = lastInputTokens ?? null
  const advanced = await advanceSession(writer, { sessionId, count: events.length, at, tokens })
  const lastSeq = advanced.rows[0]?.last_seq
  if (lastSeq === undefined) throw new FamiliarError('not_found', `There is no session ${sessionId}`)
  const first = Number(lastSeq) - events.length + 1
  const logged = events.map((event, index) => ({ ...event, seq: first + index, turnId, at }))
  const rows = events.map(({ type, ...data }, index): SessionEventRow => {
    return { session_id: sessionId, seq: first + index, turn_id: turnId, at, type, data: JSON.stringify(data) }
  })
  for (let done = 0; done < rows.length; done += 2) {
    const [one, two] = rows.slice(done, done + 2) as [SessionEventRow, SessionEventRow?]
    await (two
      ? insertTwo(writer, { ...one, nextSeq: two.seq, nextType: two.type, nextData: two.data })
      : insertOne(writer, one))
  }
  return logged
}

interface Advance {
  sessionId: string
  count: number
  at: number
  /** Null leaves what the newest request held as it was. */
  tokens: number | null
}

const advanceSession = reusableQuery((database, advance: Advance) =>
  database
    .updateTable('sessions')
    .set((expression) => ({
      last_seq: expression('last_seq', '+', advance.count),
      updated_at: advance.at,
      last_input_tokens: expression.fn.coalesce(expression.val(advance.tokens), 'last_input_tokens'),
    }))
    .where('id', '=', advance.sessionId)
    .returning('last_seq'),
)

/** Literals, so that the partial index over jumps is used. */
const isJumpRow = sql<SqlBool>`type in (${sql.join(jumpTypes.map((type) => sql.lit(type)))})`

const columns = ['session_id', 'seq', 'turn_id', 'at', 'type', 'data'] as const

const insertOne = reusableQuery((database, event: SessionEventRow) =>
  database.insertInto('session_events').values(pick(event, columns)),
)

/** Most units record two: one way to a server less. */
const insertTwo = reusableQuery(
  (database, event: SessionEventRow & { nextSeq: number; nextType: string; nextData: string }) => {
    const one = pick(event, columns)
    const two = { ...one, seq: event.nextSeq, type: event.nextType, data: event.nextData }
    return database.insertInto('session_events').values([one, two])
  },
)
