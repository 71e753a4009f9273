import type { Approval, ApprovalAnswer } from '../policy/approvals.ts'
import type { Card } from '../protocol/card.ts'
import type { StreamedEvent, ToolCallSummary, TurnOutcome } from '../protocol/event.ts'
import type { Json } from '../protocol/json.ts'
import type { Label } from '../protocol/label.ts'
import type { MediaPart, Usage } from '../protocol/message.ts'
import type { ToolDefinition } from '../protocol/tool.ts'
import type { LoggedEvent } from '../sessions/session-event.ts'
import type { Session } from '../sessions/sessions.ts'
import type { Writer } from '../storage/database.ts'
import type { Spawn } from '../tools/subagents/subagents.ts'
import type { ClientCall, ClientResult } from './client-tools/client-calls.ts'

/** A message as a channel hands it in. */
export interface InboundMessage {
  userId: string
  channel: string
  contact: string
  sender: string
  source: string
  /** Absent: the one that the config gives to the source. */
  tier?: string
  text: string
  media: MediaPart[]
  /** The sender's own id of this message. Absent: every call is a new message. */
  key?: string
  /** A turn of its own, at once. Otherwise quick messages of one sender are joined. */
  immediate: boolean
  metadata: Record<string, Json>
  /** Whose words it is. Absent: the owner's own, unless the source is one that nobody speaks through. */
  label?: Label
  /** What the client that sends it can do itself. `bad_request` where one has the name of a tool of ours. */
  clientTools?: ToolDefinition[]
}

export interface Receipt {
  messageId: string
  sessionId: string
  /** The key was seen before; nothing new was begun. */
  duplicate: boolean
}

export interface TurnEnd {
  turnId: string
  sessionId: string
  outcome: TurnOutcome
  text: string
  question: string | null
  deliver: boolean
  /** Who was at fault, with the outcome `failed`. */
  failure: 'provider' | 'timeout' | 'internal' | null
  /** The memories that the turn began with. */
  recalled: { id: string; text: string }[]
  toolCalls: ToolCallSummary[]
  /** What its tools showed, in their order. */
  cards: Card[]
  model: string
  rounds: number
  usage: Usage
  /** Null where a model without a price took part. */
  costUsd: number | null
}

export type TurnReply =
  | { kind: 'ended'; end: TurnEnd }
  | { kind: 'asks'; sessionId: string; turnId: string; calls: readonly ClientCall[] }

export interface ContextReport {
  tokenizer: string
  /** What the provider counted for the newest request; null before the first. */
  lastRequestTokens: number | null
  thresholdTokens: number
  blocks: { name: string; tier: string; tokens: number; cached: boolean }[]
}

/**
 * What every way in calls: HTTP, command line, Telegram, the page. A message is durable when `submit` resolves. Control
 * operations never wait behind a turn. Whatever belongs to another user does not exist: `not_found`.
 */
export interface Conversations {
  /** Takes up what an earlier run left: interrupted turns first, then what waits. */
  recover(): Promise<{ resumedTurns: number; queuedMessages: number }>
  /** What `also` writes is committed with the message, or with the knowledge that it came before; a message with a key. */
  submit(inbound: InboundMessage, also?: (writer: Writer) => Promise<void>): Promise<Receipt>
  /** Resolves with the end of the message's turn, however long that takes. Aborting the wait does not stop the turn. */
  waitForTurn(messageId: string, signal?: AbortSignal): Promise<TurnEnd>
  /** The same, or what the turn's client shall do before it goes on. */
  waitForReply(messageId: string, signal?: AbortSignal): Promise<TurnReply>
  /** What the client has done. See ClientCalls for what is refused. Resolves with a message whose turn goes on. */
  giveToolResults(given: {
    userId: string
    sessionId: string
    results: readonly ClientResult[]
  }): Promise<{ messageId: string }>
  /** With all that works for it. True where something was running. */
  stop(userId: string, sessionId: string): Promise<boolean>
  /** Archives; nothing is deleted. Returns the archived sessions. */
  reset(userId: string, target: { all: true } | { sessionId: string } | { contact: string }): Promise<Session[]>
  mark(userId: string, sessionId: string, name: string): Promise<void>
  rewind(userId: string, sessionId: string, to: { mark: string } | { turns: number }): Promise<void>
  /** With `beforeMessage` as it was before that message; otherwise as it is, without a turn under way. */
  fork(userId: string, sessionId: string, contact: string, options?: { beforeMessage?: string }): Promise<Session>
  /** Summarises the oldest part now. False where there was too little to summarise or the summary failed. */
  compact(userId: string, sessionId: string): Promise<boolean>
  sessions(userId: string, options?: { includeArchived?: boolean }): Promise<Session[]>
  /** By id, or the newest active one with this contact. */
  findSession(userId: string, idOrContact: string): Promise<Session | undefined>
  history(userId: string, sessionId: string, range?: { after?: number; limit?: number }): Promise<LoggedEvent[]>
  events(userId: string, sessionId: string, cursor: string, signal: AbortSignal): Promise<AsyncGenerator<StreamedEvent>>
  /** The newest events, of those before a place where that is given; in order. */
  historyBack(
    userId: string,
    sessionId: string,
    range: { before?: number | undefined; limit: number },
  ): Promise<LoggedEvent[]>
  /** The events of one turn, in order; none where there is no such turn. */
  turnEvents(userId: string, sessionId: string, turnId: string): Promise<LoggedEvent[]>
  /** The newest part of the stream, or what came before a place of the log; `cursor` is where `events` goes on. */
  pastEvents(
    userId: string,
    sessionId: string,
    range: { before?: number | undefined; limit: number },
  ): Promise<{ events: StreamedEvent[]; cursor: string; before: number | null }>
  contextReport(userId: string, sessionId: string): Promise<ContextReport>
  /** What works for the conversation, or has worked, oldest first. */
  spawns(userId: string, sessionId: string): Promise<Spawn[]>
  /** The calls that wait for the user's word. */
  approvals(userId: string): Promise<Approval[]>
  /** The answer from elsewhere than the conversation; the agent goes on by itself. `conflict` where it comes too late. */
  answerApproval(answer: ApprovalAnswer): Promise<Approval>
  /** Turns under way and messages that wait; `waitingHere` are those of the named session. */
  load(sessionId?: string): { running: number; waiting: number; waitingHere: number }
  /** Ends the running steps (cut off after `graceMs`) and begins no further one. */
  close(graceMs: number): Promise<void>
}
