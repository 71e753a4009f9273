import type { Json } from '../../protocol/json.ts'
import type { OutboxRow } from '../../storage/channel-tables.ts'
import type { Writer } from '../../storage/database.ts'

export type OutboxState = OutboxRow['state']

/** Something to be sent. */
export interface Outgoing {
  userId: string
  channel: string
  /** What goes to one address goes in the order in which it was put in; addresses do not wait for each other. */
  address: string
  /** What it is made of, such as an event of a session: the same one is put in once, however often that is tried. */
  key: string
  payload: Json
  sessionId: string | null
}

export interface OutboxItem extends Outgoing {
  id: string
  state: OutboxState
  attempts: number
  nextAt: number | null
  error: string | null
  externalId: string | null
  repeats: string | null
  createdAt: number
  updatedAt: number
}

/** What came of one attempt, as far as it is known. */
export type SendOutcome =
  | { kind: 'sent'; externalId: string | null }
  /**
   * It did not arrive, and may later: as soon as the other side said, or after a growing pause. With `isForAll` the other
   * side wants nothing at all of this channel before that.
   */
  | { kind: 'retry'; reason: string; afterMs: number | null; isForAll?: true }
  /** It did not arrive: whoever was there has another address now, and all that waits for them goes there. */
  | { kind: 'moved'; address: string }
  /** It may have arrived. */
  | { kind: 'unknown'; reason: string }
  /** It did not arrive and never will. */
  | { kind: 'failed'; reason: string }

/** How one channel sends. */
export interface Sender {
  channel: string
  /** Called for one item of an address at a time. What it throws leaves the outcome unknown. */
  send(item: OutboxItem, signal: AbortSignal): Promise<SendOutcome>
  /**
   * What becomes of an item of unknown outcome: it is left at that, tried again as it is (the other side knows it by its
   * id), or said again, as a new item with this payload.
   */
  onUnknown(item: OutboxItem): { kind: 'leave' } | { kind: 'retry' } | { kind: 'repeat'; payload: Json }
}

/**
 * What goes out of the house (SEC-19). An item is durable when the unit that put it in is; it is marked as `sending` before
 * the first byte leaves, so what a crash interrupts is of unknown outcome and never taken for sent or unsent.
 */
export interface Outbox {
  /** In the unit of the caller; nothing is sent before that is committed and `wake` was called. */
  putIn(writer: Writer, items: readonly Outgoing[]): Promise<void>
  /** Something was put in. Returns at once. */
  wake(): void
  /** Begins to send; what an earlier run was sending is of unknown outcome. */
  start(senders: readonly Sender[]): Promise<void>
  /** `not_found` where there is none. */
  show(userId: string, id: string): Promise<OutboxItem>
  /** Newest first; what belongs to another user does not exist. */
  list(userId: string, query: { state?: OutboxState; channel?: string; limit: number }): Promise<OutboxItem[]>
  counts(userId: string): Promise<Record<OutboxState, number>>
  /** Tries again what failed, is of unknown outcome, or waits. `not_found`, or `conflict` where it is under way or sent. */
  retry(userId: string, id: string): Promise<OutboxItem>
  /** It is not sent any more. `conflict` where it is under way or over. */
  cancel(userId: string, id: string): Promise<OutboxItem>
  /** Lets what is under way come to its end for a moment, and begins nothing more. */
  close(): Promise<void>
}
