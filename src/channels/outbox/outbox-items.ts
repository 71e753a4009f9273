import type { Ids } from '../../base/ids.ts'
import { parseAnyJson } from '../../base/json.ts'
import type { OutboxRow } from '../../storage/channel-tables.ts'
import type { Reader, Writer } from '../../storage/database.ts'
import { reusableQuery } from '../../storage/reusable-query.ts'
import type { OutboxItem, Outgoing } from './outbox.ts'

export interface Address {
  channel: string
  address: string
}

/** In the order in which they are given. What was put in before under its key is left as it is. */
export async function insertItems(
  writer: Writer,
  { items, ids, now }: { items: readonly Outgoing[]; ids: Ids; now: number },
): Promise<void> {
  for (const item of items) {
    const { rows } = await selectNewestOpen(writer, item)
    const id = ids.next()
    const newest = { at: Number(rows[0]?.created_at ?? 0), id: rows[0]?.id ?? '' }
    // The order is that of time and id: a clock that was set back must not put anything before what waits already.
    const isBefore = newest.at > now || (newest.at === now && newest.id > id)
    const at = isBefore ? newest.at + 1 : now
    await insertItem(writer, { ...item, id, payload: JSON.stringify(item.payload), at })
  }
}

/** What goes next to an address; it may have to wait, and what comes after it waits with it. */
export async function selectHead(reader: Reader, address: Address): Promise<OutboxRow | undefined> {
  return (await selectFirstOpen(reader, address)).rows[0]
}

/** Durable before the first byte leaves. Undefined where somebody has cancelled it meanwhile. */
export async function claimItem(writer: Writer, id: string, now: number): Promise<OutboxItem | undefined> {
  const { rows } = await markSending(writer, { id, now })
  return rows[0] && toItem(rows[0])
}

export function toItem(row: OutboxRow): OutboxItem {
  const payload = parseAnyJson(row.payload)
  return {
    id: row.id,
    userId: row.user_id,
    channel: row.channel,
    address: row.address,
    key: row.key,
    // A sender checks what it is given, and null is nothing that one could send.
    payload: payload.ok ? payload.value : null,
    sessionId: row.session_id,
    state: row.state,
    attempts: Number(row.attempts),
    nextAt: row.next_at === null ? null : Number(row.next_at),
    error: row.error,
    externalId: row.external_id,
    repeats: row.repeats,
    createdAt: Number(row.created_at),
    updatedAt: Number(row.updated_at),
  }
}

const selectNewestOpen = reusableQuery((database, { channel, address }: Address) =>
  database
    .selectFrom('outbox')
    .select(['created_at', 'id'])
    .where('channel', '=', channel)
    .where('address', '=', address)
    .where('next_at', 'is not', null)
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(1),
)

const selectFirstOpen = reusableQuery((database, { channel, address }: Address) =>
  database
    .selectFrom('outbox')
    .selectAll()
    .where('channel', '=', channel)
    .where('address', '=', address)
    .where('next_at', 'is not', null)
    .orderBy('created_at')
    .orderBy('id')
    .limit(1),
)

type NewItem = Omit<Outgoing, 'payload'> & { id: string; payload: string; at: number }

const insertItem = reusableQuery((database, item: NewItem) =>
  database
    .insertInto('outbox')
    .values({
      id: item.id,
      user_id: item.userId,
      channel: item.channel,
      address: item.address,
      key: item.key,
      payload: item.payload,
      state: 'pending',
      attempts: 0,
      next_at: item.at,
      error: null,
      external_id: null,
      session_id: item.sessionId,
      repeats: null,
      created_at: item.at,
      updated_at: item.at,
    })
    .onConflict((conflict) => conflict.columns(['channel', 'key']).doNothing()),
)

const markSending = reusableQuery((database, { id, now }: { id: string; now: number }) =>
  database
    .updateTable('outbox')
    .set((expression) => ({ state: 'sending', attempts: expression('attempts', '+', 1), updated_at: now }))
    .where('id', '=', id)
    .where('state', '=', 'pending')
    .returningAll(),
)
