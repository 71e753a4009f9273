import { approvedText, deniedText } from '../policy/approval-texts.ts'
import type { AnswerOutcome, Approval, ApprovalAnswer, Approvals } from '../policy/approvals.ts'
import { approvalSource } from '../policy/own-words.ts'
import { FamiliarError } from '../protocol/error.ts'
import type { Inbox, InboxMessage } from '../sessions/inbox.ts'
import type { Session, Sessions } from '../sessions/sessions.ts'
import type { Database } from '../storage/database.ts'

interface AnsweredApproval {
  approval: Approval
  /** What tells the agent of it; undefined where it was told before. */
  message: InboxMessage | undefined
}

/**
 * The user's answer from elsewhere than the conversation. The answer and the message that lets the agent go on are one
 * unit: neither is there without the other, and the same answer twice is one.
 */
export type AnswerApproval = (answer: ApprovalAnswer) => Promise<AnsweredApproval>

export function createAnswerApproval(dependencies: {
  database: Database
  approvals: Approvals
  sessions: Sessions
  inbox: Inbox
  tierOf(source: string): string
}): AnswerApproval {
  const { database, approvals, sessions, inbox } = dependencies

  return (answer) =>
    database.write(async (writer) => {
      const outcome = await approvals.answer(writer, answer)
      if (!outcome.ok) throw refusal(answer.id, outcome.reason)
      const { approval, isNew } = outcome
      if (!isNew) return { approval, message: undefined }
      const session = await sessions.getIn(writer, approval.userId, approval.sessionId)
      if (session?.state !== 'active') throw new FamiliarError('conflict', 'The session that asked for it is archived.')
      const { message } = await inbox.admitIn(writer, session, messageOf(approval, session))
      return { approval, message }
    })

  function messageOf(approval: Approval, session: Session) {
    return {
      key: approval.id,
      text: approval.state === 'denied' ? deniedText(approval) : approvedText(approval),
      media: [],
      sender: approvalSource,
      source: approvalSource,
      tier: dependencies.tierOf(session.channel),
      immediate: true,
      metadata: {},
      label: 'internal' as const,
    }
  }
}

function refusal(id: string, reason: Extract<AnswerOutcome, { ok: false }>['reason']): FamiliarError {
  switch (reason) {
    case 'not_found':
      return new FamiliarError('not_found', `There is no request for approval ${id}`)
    case 'expired':
      return new FamiliarError('conflict', 'It was asked too long ago. Ask for the same again to be asked again.')
    case 'answered_otherwise':
      return new FamiliarError('conflict', 'It was answered otherwise before.')
    case 'broken_seal':
      return new FamiliarError('conflict', 'What is stored of it was changed since it was asked: it does not hold.')
  }
}
