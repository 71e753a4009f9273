import type { Permissions } from '../../agent/permissions.ts'
import { parseAnyJson } from '../../base/json.ts'
import * as api from '../../protocol/permissions.ts'
import { approvalDetails, approvalQuestion, approvalView } from '../../security/approval-texts.ts'
import type { Approval } from '../../security/approvals.ts'
import { createSessionHandler } from '../chat-replies.ts'
import type { HttpDependencies } from '../dependencies.ts'
import { handle, type Route } from '../route.ts'

/** Calls that wait for approval. A caller with `chat` may answer them, as in a conversation. */
export function createApprovalRoutes({ conversations }: HttpDependencies): Route[] {
  return [
    handle(api.approvals.list, async ({ userId }) => {
      return { approvals: (await conversations.approvals(userId)).map(approvalReply) }
    }),
    handle(api.approvals.answer, async ({ userId, params, body }) => {
      const answer = { userId, id: params.id, ...body, from: 'http' } as const
      return approvalReply(await conversations.answerApproval(answer))
    }),
  ]
}

function approvalReply(approval: Approval) {
  const given = parseAnyJson(approval.arguments)
  const { sentence, covers, reason } = approvalView(approval)
  return {
    ...approval,
    arguments: given.ok ? given.value : approval.arguments,
    scopes: [...approval.scopes],
    sentence,
    covers,
    reason,
    details: approvalDetails(approval),
    question: approvalQuestion(approval),
  }
}

/** Standing permissions, and the mode of a conversation. */
export function createPermissionRoutes(dependencies: HttpDependencies, permissions: Permissions): Route[] {
  const inSession = createSessionHandler(dependencies)
  return [
    handle(api.permissions.list, async ({ userId }) => {
      return { mode: permissions.usualMode(userId), permissions: await permissions.list(userId) }
    }),
    ...[api.permissions.allow, api.permissions.allowHere].map((operation) =>
      handle(operation, ({ userId, body }) => permissions.allow({ ...body, userId, from: 'http' })),
    ),
    handle(api.permissions.revoke, ({ userId, params }) => permissions.revoke(userId, params.id)),
    inSession(api.permissions.mode, async ({ session }) => {
      return { sessionId: session.id, mode: session.mode, effective: permissions.effectiveMode(session) }
    }),
    inSession(api.permissions.setMode, async ({ userId, session, body: { mode } }) => {
      return { sessionId: session.id, mode, effective: await permissions.setMode(userId, session.id, mode) }
    }),
  ]
}
