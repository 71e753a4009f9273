import { camelKeys, parseAnyJson, snakeKeys } from '../base/json.ts'
import type { Json } from '../protocol/messages.ts'
import type { Writer } from '../storage/database.ts'
import type { OutboxRow } from '../storage/feature-tables.ts'

export type OutboxState = OutboxRow['state']

export interface OutgoingItem {
  userId: string
  channel: string
  /** Items to one address are sent in order; addresses do not wait for each other. */
  address: string
  /**
   * Identifies its origin, such as an event of a session: the same item is queued once, however often that is tried.
   */
  key: string
  payload: Json
  sessionId: string | null
}

export type OutboxItem = ReturnType<typeof toItem>

export function toItem(row: OutboxRow) {
  const payload = parseAnyJson(row.payload)
  // The sender validates the payload, and null is never valid.
  return { ...camelKeys(row), attempts: Number(row.attempts), payload: payload.ok ? payload.value : null }
}

/** The outcome of one attempt, as far as it is known. */
export type SendOutcome =
  | { kind: 'sent'; externalId: string | null }
  /**
   * It did not arrive, and is retried at the requested time or after a growing pause. With `isForAll` the other side
   * accepts nothing on this channel before that.
   */
  | { kind: 'retry'; reason: string; afterMs: number | null; isForAll?: true }
  /** It did not arrive: the recipient has another address, and all waiting items go there. */
  | { kind: 'moved'; address: string }
  /** It may have arrived. */
  | { kind: 'unknown'; reason: string }
  /** It did not arrive and never will. */
  | { kind: 'failed'; reason: string }

export interface Sender {
  channel: string
  /** Called for one item per address at a time. An exception leaves the outcome unknown. */
  send(item: OutboxItem, signal: AbortSignal): Promise<SendOutcome>
  /**
   * Handles an item of unknown outcome: leave it, retry it (the other side recognizes its id), or repeat it as a new
   * item with this payload.
   */
  onUnknown(item: OutboxItem): { kind: 'leave' } | { kind: 'retry' } | { kind: 'repeat'; payload: Json }
}

/**
 * The steps of sending. The crash suite kills the process at each one; nothing else may depend on them.
 *
 * `item_sent` is between the other side's response and writing it down.
 */
export const outboxStepNames = ['items_put_in', 'item_claimed', 'item_sent', 'outcome_written'] as const

export type OutboxStepName = (typeof outboxStepNames)[number]
export type OnOutboxStep = (step: OutboxStepName) => void

const firstPauseMs = 1_000
const maxPauseMs = 10 * 60_000

/** The pause after so many failed attempts: doubled each time, with jitter. */
export function pauseAfter(attempts: number, random: () => number): number {
  const pause = firstPauseMs * 2 ** Math.min(Math.max(attempts - 1, 0), 20)
  return Math.round(Math.min(maxPauseMs, pause * (1 + random() / 4)))
}

const maxTryingMs = 48 * 60 * 60_000

type Change = Pick<OutboxRow, 'state' | 'next_at' | 'error'> & Partial<Pick<OutboxRow, 'external_id' | 'address'>>

/** Writes the outcome of an attempt and its consequences, in the caller's unit. */
export async function writeOutcome(
  writer: Writer,
  item: OutboxItem,
  attempt: { outcome: SendOutcome; sender: Sender | undefined; now: number; random: () => number },
) {
  const { outcome, now } = attempt
  const settled = (change: Change, more: { pausedUntil?: number | null; movedTo?: string } = {}) => {
    const { pausedUntil = null, movedTo = null } = more
    return { change, result: { state: change.state, reason: change.error, pausedUntil, movedTo } }
  }

  function tryAgain({ reason, afterMs, isForAll }: Extract<SendOutcome, { kind: 'retry' }>) {
    if (now - item.createdAt > maxTryingMs) {
      return settled({ state: 'failed', next_at: null, error: `gave up after 48 hours: ${reason}` })
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
        // A recipient that moved to its own address would cause an endless loop.
        if (outcome.address === item.address) {
          return settled({ state: 'failed', next_at: null, error: 'the recipient moved to its own address' })
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
  if (result.pausedUntil !== null) {
    await setMark(writer, { channel: item.channel, name: pausedUntil, value: String(result.pausedUntil), now })
  }
  if (result.movedTo !== null) await moveAddress(writer, item, result.movedTo)
  return result
}

/** In the place of the repeated item: its id begins with that one's, and sorts right after it. */
async function insertRepetition(
  writer: Writer,
  item: OutboxItem,
  { payload, nextAt, now }: { payload: string; nextAt: number; now: number },
): Promise<void> {
  const names = { id: `${item.id}.again`, key: `${item.key}:again`, repeats: item.id }
  // The count of attempts continues, so that the pauses grow.
  const state = { state: 'pending', nextAt, error: null, externalId: null, updatedAt: now } as const
  await writer
    .insertInto('outbox')
    .values(snakeKeys({ ...item, ...names, ...state, payload }))
    .onConflict((conflict) => conflict.columns(['channel', 'key']).doNothing())
    .execute()
}

export const pausedUntil = 'paused_until'

/** A fact about a channel that survives a restart. */
export async function setMark(
  writer: Writer,
  { now, ...mark }: { channel: string; name: string; value: string; now: number },
): Promise<void> {
  const row = { value: mark.value, updated_at: now }
  await writer
    .insertInto('channel_marks')
    .values({ ...mark, ...row })
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
