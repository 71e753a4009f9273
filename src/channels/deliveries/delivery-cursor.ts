import type { Database, Writer } from '../../storage/database.ts'
import { reusableQuery } from '../../storage/reusable-query.ts'
import type { DeliverySession } from './delivery-channel.ts'

/** How far a channel has delivered a session. A fork begins after what it was copied from: that was said elsewhere. */
export async function readCursor(database: Database, channel: string, sessionId: string): Promise<number> {
  const { rows } = await selectCursor(database.read, { channel, sessionId })
  if (rows[0]) return Number(rows[0].seq)
  const forked = await database.read
    .selectFrom('session_events')
    .select((select) => select.fn.max('seq').as('seq'))
    .where('session_id', '=', sessionId)
    .where('type', '=', 'forked')
    .executeTakeFirst()
  return Number(forked?.seq ?? 0)
}

/** In the unit that puts in what the events up to there have become. */
export async function writeCursor(writer: Writer, cursor: CursorKey & { seq: number }): Promise<void> {
  await upsertCursor(writer, cursor)
}

/** The sessions in which something happened since `since` that the channel has not gone through, the oldest first. */
export async function selectBehind(database: Database, channel: string, since: number): Promise<DeliverySession[]> {
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
  return rows.map(toDeliverySession)
}

export async function findSession(database: Database, sessionId: string): Promise<DeliverySession | undefined> {
  const row = await database.read
    .selectFrom('sessions')
    .select(['id', 'user_id', 'channel', 'contact'])
    .where('id', '=', sessionId)
    .executeTakeFirst()
  return row && toDeliverySession(row)
}

function toDeliverySession(row: { id: string; user_id: string; channel: string; contact: string }): DeliverySession {
  return { id: row.id, userId: row.user_id, channel: row.channel, contact: row.contact }
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
