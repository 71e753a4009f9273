import { approvedText, deniedText } from '../policy/approval-texts.ts'
import type { Approval, Approvals } from '../policy/approvals.ts'
import { isOwnWords } from '../policy/own-words.ts'
import { readSpokenAnswer } from '../policy/spoken-answer.ts'
import type { InboxMessage } from '../sessions/inbox.ts'
import type { Projection } from '../sessions/projection.ts'
import type { Session } from '../sessions/sessions.ts'
import type { Writer } from '../storage/database.ts'

export interface SpokenAnswers {
  answer: 'approve' | 'deny'
  approvals: readonly Approval[]
  /** The channel that they came through. */
  from: string
}

/**
 * The approvals that the user answers by words: those that the turn before ended with and showed, and nothing but a
 * plain answer of the user's own. Undefined for everything else, which is no approval.
 */
export async function readSpokenAnswers(
  approvals: Pick<Approvals, 'pending'>,
  said: { session: Session; messages: readonly InboxMessage[]; projection: Projection },
): Promise<SpokenAnswers | undefined> {
  const { session, messages, projection } = said
  const [message] = messages
  if (projection.pendingApprovals.length === 0 || !message || messages.length > 1) return undefined
  if (!isOwnWords(message) || message.media.length > 0) return undefined
  const answer = readSpokenAnswer(message.text)
  if (!answer) return undefined
  const pending = await approvals.pending(session.userId, session.id)
  const asked = pending.filter(({ id }) => projection.pendingApprovals.includes(id))
  return asked.length > 0 ? { answer, approvals: asked, from: session.channel } : undefined
}

/** In the unit that starts the turn. What can no longer be answered is not: its call is asked about anew. */
export async function giveAnswers(writer: Writer, approvals: Approvals, answers: SpokenAnswers): Promise<void> {
  const { answer, from } = answers
  for (const { id, userId } of answers.approvals) await approvals.answer(writer, { userId, id, answer, from })
}

/** What the model is told of it. */
export function tellAnswers(answers: SpokenAnswers | undefined): string[] {
  if (!answers) return []
  return answers.approvals.map(answers.answer === 'approve' ? approvedText : deniedText)
}
