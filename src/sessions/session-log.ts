import type { Clock } from '../base/clock.ts'
import type { Wakeups } from '../base/wakeups.ts'
import { FamiliarError } from '../protocol/error.ts'
import type { Database, Writer } from '../storage/database.ts'
import { eventFromRow, type LoggedEvent, type SessionEvent } from './session-event.ts'

/** The append-only log of every session. An event is durable, and seen by readers, only when `record` resolves. */
export interface SessionLog {
  /** Appends the events and, in the same commit, whatever `also` writes. All of it or nothing. */
  record(
    target: { sessionId: string; turnId: string | null; lastInputTokens?: number },
    events: readonly SessionEvent[],
    also?: (writer: Writer) => Promise<void>,
  ): Promise<LoggedEvent[]>
  /** Events after `after`, in order. Damaged rows are left out and counted. */
  read(
    sessionId: string,
    range?: { after?: number; limit?: number },
  ): Promise<{ events: LoggedEvent[]; damaged: number }>
  /** The events of one turn. */
  readTurn(sessionId: string, turnId: string): Promise<LoggedEvent[]>
  /** Woken after every commit to the session's log. */
  onChange(sessionId: string, listener: () => void): () => void
  wake(sessionId: string): void
}

export function createSessionLog(dependencies: { database: Database; clock: Clock; wakeups: Wakeups }): SessionLog {
  const { database, clock, wakeups } = dependencies
  const topic = (sessionId: string) => `session:${sessionId}`

  return {
    async record(target, events, also) {
      const logged = await database.write(async (writer) => {
        if (also) await also(writer)
        return events.length === 0 ? [] : appendEvents(writer, { ...target, events, at: clock.now() })
      })
      wakeups.wake(topic(target.sessionId))
      return logged
    },
    async read(sessionId, range = {}) {
      let query = database.read
        .selectFrom('session_events')
        .select(['seq', 'turn_id', 'at', 'type', 'data'])
        .where('session_id', '=', sessionId)
        .where('seq', '>', range.after ?? 0)
        .orderBy('seq')
      if (range.limit !== undefined) query = query.limit(range.limit)
      const rows = await query.execute()
      const events = rows.map(eventFromRow).filter((event) => event !== undefined)
      return { events, damaged: rows.length - events.length }
    },
    async readTurn(sessionId, turnId) {
      const rows = await database.read
        .selectFrom('session_events')
        .select(['seq', 'turn_id', 'at', 'type', 'data'])
        .where('turn_id', '=', turnId)
        .where('session_id', '=', sessionId)
        .orderBy('seq')
        .execute()
      return rows.map(eventFromRow).filter((event) => event !== undefined)
    },
    onChange: (sessionId, listener) => wakeups.on(topic(sessionId), listener),
    wake: (sessionId) => wakeups.wake(topic(sessionId)),
  }
}

/** For units that write events beside other rows; takes the next places of the session's order. */
export async function appendEvents(
  writer: Writer,
  append: {
    sessionId: string
    turnId: string | null
    events: readonly SessionEvent[]
    at: number
    lastInputTokens?: number
  },
): Promise<LoggedEvent[]> {
  const { sessionId, turnId, events, at, lastInputTokens } = append
  const session = await writer
    .updateTable('sessions')
    .set((expression) => ({
      last_seq: expression('last_seq', '+', events.length),
      updated_at: at,
      ...(lastInputTokens !== undefined && { last_input_tokens: lastInputTokens }),
    }))
    .where('id', '=', sessionId)
    .returning('last_seq')
    .executeTakeFirst()
  if (!session) throw new FamiliarError('not_found', `There is no session ${sessionId}`)
  const first = Number(session.last_seq) - events.length + 1
  const logged = events.map((event, index) => ({ ...event, seq: first + index, turnId, at }))
  await writer
    .insertInto('session_events')
    .values(
      events.map((event, index) => {
        const { type, ...data } = event
        return { session_id: sessionId, seq: first + index, turn_id: turnId, at, type, data: JSON.stringify(data) }
      }),
    )
    .execute()
  return logged
}
