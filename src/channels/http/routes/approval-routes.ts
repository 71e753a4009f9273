import { parseAnyJson } from '../../../base/json.ts'
import { approvalQuestion } from '../../../policy/approval-texts.ts'
import type { Approval } from '../../../policy/approvals.ts'
import {
  type ApprovalReply,
  type ApprovalsReply,
  approvalAnswerRequestSchema,
  approvalReplySchema,
  approvalsReplySchema,
} from '../../../protocol/approval-api.ts'
import { callerOf } from '../guards/token-guard.ts'
import type { HttpDependencies } from '../http-dependencies.ts'
import { isoTime } from '../iso-time.ts'
import { jsonReply } from '../json-reply.ts'
import { defineRoute, type Route } from '../route.ts'

/** Calls that wait for the user's word. Whoever may speak for the user in a conversation may give it here. */
export function createApprovalRoutes({ conversations }: HttpDependencies): Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/api/v1/approvals',
      summary: 'Calls that wait for approval, oldest first, with all that they would be made with.',
      auth: 'token',
      scope: 'read',
      reply: { status: 200, schema: approvalsReplySchema },
      async handle({ context }) {
        const approvals = await conversations.approvals(callerOf(context).userId)
        return jsonReply({ approvals: approvals.map(approvalReply) } satisfies ApprovalsReply)
      },
    }),
    defineRoute({
      method: 'POST',
      path: '/api/v1/approvals/:id',
      summary: 'Approve or deny one; the agent goes on by itself. The same answer twice is one.',
      auth: 'token',
      scope: 'chat',
      body: approvalAnswerRequestSchema,
      reply: { status: 200, schema: approvalReplySchema },
      async handle({ context, body }) {
        const { userId } = callerOf(context)
        const id = context.req.param('id') ?? ''
        const approval = await conversations.answerApproval({ userId, id, answer: body.answer, from: 'http' })
        return jsonReply(approvalReply(approval))
      },
    }),
  ]
}

function approvalReply(approval: Approval): ApprovalReply {
  const given = parseAnyJson(approval.arguments)
  return {
    id: approval.id,
    session_id: approval.sessionId,
    tool: approval.tool,
    arguments: given.ok ? given.value : approval.arguments,
    destination: approval.destination,
    reason: approval.reason,
    question: approvalQuestion(approval),
    state: approval.state,
    asked_at: isoTime(approval.askedAt),
    expires_at: isoTime(approval.expiresAt),
  }
}
