import type { z } from 'zod'
import type { Clock } from '../base/clock.ts'
import type { Ids } from '../base/ids.ts'
import type { Logger } from '../base/logger.ts'
import type { contextReplySchema } from '../protocol/api.ts'
import { FamiliarError } from '../protocol/errors.ts'
import type { Approvals } from '../security/approvals.ts'
import type { ToolRegistry } from '../tools/registry.ts'
import { type AnswerApproval, createAdmission } from './admission.ts'
import { createBranching } from './branching.ts'
import type { ClientCall, ClientCalls } from './client-calls.ts'
import type { Compaction } from './compaction.ts'
import type { Context } from './context.ts'
import type { Coordination } from './coordination.ts'
import { createTurnWaiters, type LiveResponses, type TurnWaiters, type turnEndFrom } from './event-stream.ts'
import type { Learning } from './learning.ts'
import type { Ledger } from './ledger.ts'
import type { OnStep } from './next-step.ts'
import type { RoleOf } from './roles.ts'
import { createRunner, type Runner } from './runner.ts'
import { createSessionAdmin, createSessionGates } from './session-admin.ts'
import type { InboundPayload, Inbox } from './sessions/inbox.ts'
import type { OpenSessions } from './sessions/open-sessions.ts'
import type { SessionLog } from './sessions/session-log.ts'
import type { Session, SessionKey, Sessions } from './sessions/sessions.ts'
import type { SubagentWork } from './subagents.ts'
import type { Turns } from './turn.ts'

/** A message as a channel hands it in. Without a label it is trusted as the owner's, unless its source is an internal one. */
export interface InboundMessage extends SessionKey, Omit<InboundPayload, 'tier'> {
  /** Absent: the one that the config gives to the source. */
  tier?: string
  /** The sender's own id of this message. Absent: every call is a new message. */
  key?: string
}

export interface Receipt {
  messageId: string
  sessionId: string
  /** The key was seen before; nothing new was started. */
  duplicate: boolean
}

export type TurnEnd = ReturnType<typeof turnEndFrom>

export type TurnReply =
  | { kind: 'ended'; end: TurnEnd }
  | { kind: 'asks'; sessionId: string; turnId: string; calls: readonly ClientCall[] }

export type ContextReport = z.infer<typeof contextReplySchema>

interface ConversationSettings {
  debounceMs: () => number
  maxConcurrentTurns: number
  /** For work in the background, in addition to the turns. */
  maxConcurrentWork: number
  /** In addition to both: a build that waits for its user must not block a sub-agent that a conversation waits for. */
  maxConcurrentSubagents: number
  maxMessageCharacters: number
  profileOf(source: string): string
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
  context: Pick<Context, 'requireProfile'>
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
  learning: Pick<Learning, 'afterTurn' | 'afterClose' | 'afterDelete' | 'afterRestore'>
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

export type Conversations = ReturnType<typeof createConversations>

/**
 * The interface of all channels: HTTP, command line, Telegram and the page. A message is durable when `submit`
 * resolves. Control operations never wait for a turn. Data of other users does not exist for the caller: `not_found`.
 * Four subjects are behind it: admission, the runner, the administration of sessions, and their branches.
 */
export function createConversations(dependencies: ConversationDependencies) {
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
  const branching = createBranching(dependencies, createSessionGates({ runner, own }), admission)
  const { recover, load, close } = runner
  return { ...admission, ...admin, ...branching, recover, load, close }
}
