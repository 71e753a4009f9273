import type { OutboxRow } from '../../storage/channel-tables.ts'
import type { Writer } from '../../storage/database.ts'
import type { OutboxItem, Sender, SendOutcome } from './outbox.ts'
import { pauseAfter } from './pause-after.ts'

/** After this long nobody waits for it any more. */
const longestTryingMs = 48 * 60 * 60_000

/** What an item becomes. */
type Change = Pick<OutboxRow, 'state' | 'next_at' | 'error'> & Partial<Pick<OutboxRow, 'external_id' | 'address'>>

export interface Settled {
  state: OutboxRow['state']
  reason: string | null
  /** Until then nothing goes over this channel. */
  pausedUntil: number | null
  /** Where what waited for this address goes now. */
  movedTo: string | null
}

/** Writes down what is known of an attempt, and what follows from it, in the unit of the caller. */
export async function writeOutcome(
  writer: Writer,
  item: OutboxItem,
  attempt: { outcome: SendOutcome; sender: Sender | undefined; now: number; random: () => number },
): Promise<Settled> {
  const { outcome, now } = attempt
  const settled = (change: Change, more: Partial<Settled> = {}) => {
    return { change, result: { state: change.state, reason: change.error, pausedUntil: null, movedTo: null, ...more } }
  }

  function tryAgain({ reason, afterMs, isForAll }: Extract<SendOutcome, { kind: 'retry' }>) {
    if (now - item.createdAt > longestTryingMs) {
      return settled({ state: 'failed', next_at: null, error: `given up after 48 hours: ${reason}` })
    }
    const nextAt = now + (afterMs ?? pauseAfter(item.attempts, attempt.random))
    return settled({ state: 'pending', next_at: nextAt, error: reason }, { pausedUntil: isForAll ? nextAt : null })
  }

  async function decideUnknown(reason: string) {
    const decision = attempt.sender?.onUnknown(item) ?? { kind: 'leave' }
    if (decision.kind === 'retry') return tryAgain({ kind: 'retry', reason, afterMs: null })
    if (decision.kind === 'repeat') {
      const nextAt = now + pauseAfter(item.attempts, attempt.random)
      await insertRepetition(writer, item, { payload: JSON.stringify(decision.payload), nextAt, now })
    }
    return settled({ state: 'unknown', next_at: null, error: reason })
  }

  async function settle() {
    switch (outcome.kind) {
      case 'sent':
        return settled({ state: 'sent', next_at: null, error: null, external_id: outcome.externalId })
      case 'failed':
        return settled({ state: 'failed', next_at: null, error: outcome.reason })
      case 'retry':
        return tryAgain(outcome)
      case 'unknown':
        return await decideUnknown(outcome.reason)
      case 'moved':
        // Whoever says that it moved to where it is would be asked for ever.
        if (outcome.address === item.address) {
          return settled({ state: 'failed', next_at: null, error: 'it is said to have moved to where it is' })
        }
        return settled({ state: 'pending', next_at: now, error: null }, { movedTo: outcome.address })
    }
  }

  const { change, result } = await settle()
  await writer
    .updateTable('outbox')
    .set({ ...change, updated_at: now })
    .where('id', '=', item.id)
    .where('state', '=', 'sending')
    .execute()
  if (result.pausedUntil !== null) await keepPause(writer, item.channel, result.pausedUntil, now)
  if (result.movedTo !== null) await moveAddress(writer, item, result.movedTo)
  return result
}

/** In the place of the one that it says again: its id begins with that one's, and sorts right behind it. */
async function insertRepetition(
  writer: Writer,
  item: OutboxItem,
  { payload, nextAt, now }: { payload: string; nextAt: number; now: number },
): Promise<void> {
  await writer
    .insertInto('outbox')
    .values({
      id: `${item.id}.again`,
      user_id: item.userId,
      channel: item.channel,
      address: item.address,
      key: `${item.key}:again`,
      payload,
      state: 'pending',
      // They count on, so that the pauses grow.
      attempts: item.attempts,
      next_at: nextAt,
      error: null,
      external_id: null,
      session_id: item.sessionId,
      repeats: item.id,
      created_at: item.createdAt,
      updated_at: now,
    })
    .onConflict((conflict) => conflict.columns(['channel', 'key']).doNothing())
    .execute()
}

export const pausedUntil = 'paused_until'

/** A pause that the other side asked for outlives a restart. */
async function keepPause(writer: Writer, channel: string, until: number, now: number): Promise<void> {
  const row = { value: String(until), updated_at: now }
  await writer
    .insertInto('channel_marks')
    .values({ channel, name: pausedUntil, ...row })
    .onConflict((conflict) => conflict.columns(['channel', 'name']).doUpdateSet(row))
    .execute()
}

async function moveAddress(writer: Writer, { channel, address }: OutboxItem, to: string): Promise<void> {
  await writer
    .updateTable('outbox')
    .set({ address: to })
    .where('channel', '=', channel)
    .where('address', '=', address)
    .where('next_at', 'is not', null)
    .execute()
}
