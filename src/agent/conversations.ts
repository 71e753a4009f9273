import type { z } from 'zod'
import type { Clock } from '../base/clock.ts'
import type { Ids } from '../base/ids.ts'
import type { Logger } from '../base/logger.ts'
import type { contextReplySchema } from '../protocol/api.ts'
import { FamiliarError } from '../protocol/errors.ts'
import type { StreamedEvent, ToolCallSummary, TurnOutcome } from '../protocol/events.ts'
import type {
  Card,
  Json,
  Label,
  MediaPart,
  MediaReading,
  ToolChoice,
  ToolDefinition,
  Usage,
} from '../protocol/messages.ts'
import type { Approval, ApprovalAnswer, Approvals } from '../security/approvals.ts'
import type { Writer } from '../storage/database.ts'
import type { Spawn } from '../tools/builtin/subagent-tools.ts'
import type { ToolRegistry } from '../tools/registry.ts'
import { type AnswerApproval, createAdmission } from './admission.ts'
import type { ClientCall, ClientCalls, ClientResult } from './client-calls.ts'
import type { Compaction } from './compaction.ts'
import type { Context } from './context.ts'
import type { Coordination } from './coordination.ts'
import { createTurnWaiters, type LiveResponses, type TurnWaiters } from './event-stream.ts'
import type { Learning } from './learning.ts'
import type { Ledger } from './ledger.ts'
import type { OnStep } from './next-step.ts'
import type { RoleOf } from './roles.ts'
import { createRunner, type Runner } from './runner.ts'
import { createSessionAdmin } from './session-admin.ts'
import type { Inbox } from './sessions/inbox.ts'
import type { OpenSessions } from './sessions/open-sessions.ts'
import type { LoggedEvent } from './sessions/session-event.ts'
import type { SessionLog } from './sessions/session-log.ts'
import type { Session, Sessions } from './sessions/sessions.ts'
import type { SubagentWork } from './subagents.ts'
import type { Turns } from './turn.ts'

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
  /** The origin of the text. Default: trusted as the owner's, unless the source is an internal one. */
  label?: Label
  /** The tools that the client runs itself. `bad_request` if one has the name of one of our tools. */
  clientTools?: ToolDefinition[]
  /** Which of them has to be called. */
  toolChoice?: ToolChoice
}

export interface Receipt {
  messageId: string
  sessionId: string
  /** The key was seen before; nothing new was started. */
  duplicate: boolean
}

export interface TurnEnd {
  turnId: string
  sessionId: string
  outcome: TurnOutcome
  text: string
  /** Notices for the user beside the reply; the text contains them too. */
  notices: readonly string[]
  question: string | null
  deliver: boolean
  /** The build that the turn started. */
  buildId: string | null
  /** The cause of the outcome `failed`. */
  failure: 'provider' | 'timeout' | 'internal' | null
  /** The memories that the turn began with. */
  recalled: { id: string; text: string }[]
  toolCalls: ToolCallSummary[]
  /** The cards of its tools, in order. */
  cards: Card[]
  /** The results of reading the files of its messages. */
  attachments: { name: string; reading: MediaReading }[]
  model: string
  rounds: number
  usage: Usage
  /** Null if a model without a price took part. */
  costUsd: number | null
}

export type TurnReply =
  | { kind: 'ended'; end: TurnEnd }
  | { kind: 'asks'; sessionId: string; turnId: string; calls: readonly ClientCall[] }

export type ContextReport = z.infer<typeof contextReplySchema>

/**
 * The interface of all channels: HTTP, command line, Telegram and the page. A message is durable when `submit`
 * resolves. Control operations never wait for a turn. Data of other users does not exist for the caller: `not_found`.
 */
export interface Conversations {
  /** Resumes the work of an earlier run: interrupted turns first, then queued messages. */
  recover(): Promise<{ resumedTurns: number; queuedMessages: number }>
  /** `also` writes in the commit of the message, or in the commit that finds a message with this key already there. */
  submit(inbound: InboundMessage, also?: (writer: Writer) => Promise<void>): Promise<Receipt>
  /** Resolves with the end of the message's turn, however long that takes. Aborting the wait does not stop the turn. */
  waitForTurn(messageId: string, signal?: AbortSignal): Promise<TurnEnd>
  /** The same, or the calls that the client must make before the turn continues. */
  waitForReply(messageId: string, signal?: AbortSignal): Promise<TurnReply>
  /**
   * Accepts results of client tools. ClientCalls lists the reasons for a refusal. Resolves with a message whose turn
   * continues.
   */
  giveToolResults(given: {
    userId: string
    sessionId: string
    results: readonly ClientResult[]
  }): Promise<{ messageId: string }>
  /** With all that works for it. True where something was running. */
  stop(userId: string, sessionId: string): Promise<boolean>
  /** The messages that wait for their turn, oldest first. */
  queue(userId: string, sessionId: string): Promise<{ messageId: string; text: string; receivedAt: number }[]>
  /** Cancels a queued message. `conflict` if its turn has started, `not_found` for any other message. */
  cancelQueued(userId: string, sessionId: string, messageId: string): Promise<void>
  /** Archives; nothing is deleted. Returns the archived sessions. */
  reset(userId: string, target: { all: true } | { sessionId: string } | { contact: string }): Promise<Session[]>
  mark(userId: string, sessionId: string, name: string): Promise<void>
  rewind(userId: string, sessionId: string, to: { mark: string } | { turns: number }): Promise<void>
  /** With `beforeMessage` as it was before that message; otherwise as it is, without a turn under way. */
  fork(userId: string, sessionId: string, contact: string, options?: { beforeMessage?: string }): Promise<Session>
  /** Summarizes the oldest part now. False if there was too little to summarize or the summary failed. */
  compact(userId: string, sessionId: string): Promise<boolean>
  sessions(userId: string, options?: { includeArchived?: boolean }): Promise<Session[]>
  /** By id, or the newest active one with this contact. */
  findSession(
    userId: string,
    idOrContact: string,
    /** With archived ones, the newest of that name where no active one has it. */
    options?: { includeArchived?: boolean },
  ): Promise<Session | undefined>
  history(userId: string, sessionId: string, range?: { after?: number; limit?: number }): Promise<LoggedEvent[]>
  events(userId: string, sessionId: string, cursor: string, signal: AbortSignal): Promise<AsyncGenerator<StreamedEvent>>
  /** The newest events, of those before a place where that is given; in order. */
  historyBack(
    userId: string,
    sessionId: string,
    range: { before?: number | undefined; limit: number },
  ): Promise<LoggedEvent[]>
  /** The events of one turn, in order; empty for an unknown turn. */
  turnEvents(userId: string, sessionId: string, turnId: string): Promise<LoggedEvent[]>
  /** The newest part of the stream, or the part before a position of the log; `events` continues at `cursor`. */
  pastEvents(
    userId: string,
    sessionId: string,
    range: { before?: number | undefined; limit: number },
  ): Promise<{ events: StreamedEvent[]; cursor: string; before: number | null }>
  contextReport(userId: string, sessionId: string): Promise<ContextReport>
  /** The sub-agents of the conversation, finished ones included, oldest first. */
  spawns(userId: string, sessionId: string): Promise<Spawn[]>
  /** The calls that wait for approval. */
  approvals(userId: string): Promise<Approval[]>
  /** An answer from outside the conversation; the agent continues by itself. `conflict` if it comes too late. */
  answerApproval(answer: ApprovalAnswer): Promise<Approval>
  /** Turns under way and messages that wait; `waitingHere` are those of the named session. */
  load(sessionId?: string): { running: number; waiting: number; waitingHere: number }
  /** Ends the running steps (cut off after `graceMs`) and begins no further one. */
  close(graceMs: number): Promise<void>
}

interface ConversationSettings {
  debounceMs: () => number
  maxConcurrentTurns: number
  /** For work in the background, in addition to the turns. */
  maxConcurrentWork: number
  /** In addition to both: a build that waits for its user must not block a sub-agent that a conversation waits for. */
  maxConcurrentSubagents: number
  maxMessageCharacters: number
  tierOf(source: string): string
}

export interface ConversationDependencies {
  coordination: Coordination
  log: SessionLog
  live: LiveResponses
  openSessions: OpenSessions
  sessions: Sessions
  inbox: Inbox
  ledger: Ledger
  turns: Turns
  compaction: Compaction
  context: Pick<Context, 'requireTier'>
  roleOf: RoleOf
  tools: Pick<ToolRegistry, 'viewOf'>
  subagents: Pick<SubagentWork, 'list' | 'stopAll'>
  clientCalls: Pick<ClientCalls, 'waitForCalls' | 'answer'>
  approvals: Approvals
  answerApproval: AnswerApproval
  clock: Clock
  ids: Ids
  logger: Logger
  settings: ConversationSettings
  /** Called after every turn and every closed session; both return at once. */
  learning: Pick<Learning, 'afterTurn' | 'afterClose'>
  /** Called for every turn that this process ends. Returns at once. */
  onTurnEnded(session: Session, end: TurnEnd): void
  /** The daemon starts to stop: calls that wait for something outside return. */
  onClosing(): void
  onForked(session: Session): Promise<void>
  onStep: OnStep
}

/** The parts that admission and administration share. */
export interface ConversationParts {
  runner: Runner
  waiters: TurnWaiters
  /** The session of the user, or `not_found`. */
  own(userId: string, sessionId: string): Promise<Session>
}

/** Three subjects behind one object: admission, the runner, and the administration of sessions. */
export function createConversations(dependencies: ConversationDependencies): Conversations {
  const { coordination, log, openSessions, sessions, inbox } = dependencies
  const waiters = createTurnWaiters({ log, inbox, stateIn: coordination.stateIn })

  async function own(userId: string, sessionId: string): Promise<Session> {
    const session = await sessions.get(userId, sessionId)
    if (!session) throw new FamiliarError('not_found', `There is no session ${sessionId}`)
    openSessions.catchUp(session)
    return session
  }

  const runner = createRunner(dependencies, waiters)
  const admission = createAdmission(dependencies, { runner, waiters, own })
  const admin = createSessionAdmin(dependencies, { runner, waiters, own })
  const { recover, load, close } = runner
  return { ...admission, ...admin, recover, load, close }
}
