import type { ToolEffect } from '../../../src/protocol/messages.ts'
import type { InboxRow } from '../../../src/storage/tables.ts'

/** The client's requests and responses. Ordinals count every request and every acknowledgement of one client. */
export interface SentMessage {
  /** Null where it was sent without one, once and never again. */
  key: string | null
  /** A word that occurs in no other message, in the text and in whatever answers or summarizes it. */
  token: string
  text: string
  sentAt: number
  /** Undefined until the daemon has said that it has the message. */
  acknowledgedAt: number | undefined
  /** The response to a chat request. */
  reply?: string
}

/** One line of the side-effect ledger: something that happened outside, whatever the daemon wrote of it. */
export interface SideEffect {
  tool: string
  effect: ToolEffect
  callId: string
  turnId: string
  /** The effect that the model wanted, whichever call did it. */
  operation: string
}

/** Everything that was seen from outside of the daemon. */
export interface Evidence {
  databasePath: string
  messages: readonly SentMessage[]
  sideEffects: readonly SideEffect[]
  /** The tools that write such lines; those of the program itself leave none. */
  ledgerTools: readonly string[]
  /** Requests that the provider refused, in its words. */
  rejections: readonly string[]
  /** Model calls that reached the provider. */
  requests: number
  /** When the daemon was killed, or had no room to write, in milliseconds since the epoch. */
  interruptions: readonly number[]
  /** False for the file of a daemon that was killed and has not come back yet: then what waits is no loss. */
  settled: boolean
  /** Several daemons may share the work: unfinished work of a dead one outside of a turn stays open for an hour. */
  isShared?: boolean
}

/** The rows of the inbox that hold the message: by its key, or by what it says. */
export function rowsOf(inbox: readonly InboxRow[], message: SentMessage): InboxRow[] {
  return inbox.filter((row) => (message.key === null ? row.data.includes(message.token) : row.key === message.key))
}

export interface Span {
  from: number
  to: number
}

/** How often the daemon was interrupted inside the span. */
export function interruptionsWithin(evidence: Evidence, span: Span): number {
  return evidence.interruptions.filter((at) => at >= span.from && at <= span.to).length
}
