import type { Attachment, ContextReply } from '../../../protocol/api.ts'
import type { ApprovalReply } from '../../../protocol/approval-api.ts'
import type { BuildEvent, BuildReply } from '../../../protocol/build-api.ts'
import type { TurnEvent } from '../../../protocol/event.ts'
import type { ChatCommand, ChatCommands } from '../chat-partner.ts'
import type { Offer } from './completion.ts'
import type { StatusFacts } from './draw-status.ts'

/** What is heard of the session while the terminal is open. */
export type News =
  | { type: 'event'; event: TurnEvent }
  /** The line is broken; it is being mended. */
  | { type: 'lost' }
  /** Told from the last whole step on: what was open comes again. */
  | { type: 'back'; where: string }
  /** The conversation goes on in another session. */
  | { type: 'moved'; session: string }

/**
 * The session at the other end of a terminal that draws. Whatever is asked of it may fail with an error whose message
 * a user can read; a broken line it mends itself.
 */
export interface TuiPartner {
  /** Where it runs, in a few words. */
  readonly where: string
  /** Resolves once the message is safe, however often the line breaks. The same key makes one turn. */
  send(message: { key: string; text: string; attachments: readonly Attachment[] }): Promise<{ messageId: string }>
  /** Everything that happens from now on, until the signal aborts. Never throws. */
  follow(listener: (news: News) => void, signal: AbortSignal): Promise<void>
  /** False where no turn was running. */
  stop(): Promise<boolean>
  commands: ChatCommands
  ownCommands: Readonly<Record<string, ChatCommand>>
  find(kind: 'file' | 'block', query: string, signal: AbortSignal): Promise<readonly Offer[]>
  /** Calls of the session that wait for the user's word. */
  approvals(): Promise<readonly ApprovalReply[]>
  answerApproval(id: string, answer: 'approve' | 'deny'): Promise<void>
  builds: {
    running(): Promise<readonly BuildReply[]>
    /** To the end of the build, from its beginning. */
    follow(id: string, signal: AbortSignal): AsyncIterable<BuildEvent>
    /** Which questions still wait. */
    questions(): Promise<readonly { id: string }[]>
    answer(questionId: string, text: string): Promise<void>
    giveSecret(questionId: string, value: string): Promise<void>
  }
  facts(): Promise<StatusFacts>
  /** Undefined before the first message. */
  context(): Promise<ContextReply | undefined>
  /** What was said last, oldest first. */
  past(): Promise<readonly { role: 'user' | 'assistant'; text: string }[]>
}

/** What belongs to the machine and not to the session. */
export interface TuiMachine {
  /** Undefined where there is no such image. */
  readImage(path: string): Promise<Attachment | undefined>
  /** Undefined where the clipboard holds none, or nothing here can read it. */
  clipboardImage(): Promise<Attachment | undefined>
  /** What was typed before, the newest first. */
  history: readonly string[]
  remember(text: string): void
}
