import { parseAnyJson } from '../../base/json.ts'
import * as api from '../../protocol/api.ts'
import * as userApi from '../../protocol/users.ts'
import { type Approval, approvalQuestion } from '../../security/approvals.ts'
import { sessionOf, sessionReply, toHistoryEvents } from '../chat-replies.ts'
import type { HttpDependencies } from '../dependencies.ts'
import { isSessionId } from '../inbound-message.ts'
import { handle, type Route } from '../route.ts'

/** Sessions and their content. */
export function createSessionRoutes(dependencies: HttpDependencies): Route[] {
  const { conversations } = dependencies
  return [
    handle(api.sessions.list, async ({ userId, query }) => {
      const options = { includeArchived: query.archived === 'true' }
      const sessions = await conversations.sessions(userId, options)
      return { sessions: sessions.map(sessionReply) }
    }),
    handle(api.sessions.reset, async ({ userId, body }) => {
      const archived = await conversations.reset(userId, resetTarget(body.target))
      return { archived: archived.map(sessionReply) }
    }),
    handle(api.sessions.history, async ({ query, context }) => {
      const { id, userId } = await sessionOf(dependencies, context)
      const { after, limit } = query
      const events = await conversations.history(userId, id, { after, limit })
      return {
        sessionId: id,
        events: toHistoryEvents(events, { full: query.full === 'true' }),
        nextAfter: events.length === limit ? (events.at(-1)?.seq ?? null) : null,
      }
    }),
    handle(api.sessions.context, async ({ context }) => {
      const { id, userId } = await sessionOf(dependencies, context)
      return conversations.contextReport(userId, id)
    }),
  ]
}

function resetTarget(target: string): { all: true } | { sessionId: string } | { contact: string } {
  if (target === 'all') return { all: true }
  return isSessionId(target) ? { sessionId: target } : { contact: target }
}

/** Calls that wait for approval. A caller with `chat` may answer them, as in a conversation. */
export function createApprovalRoutes({ conversations }: HttpDependencies): Route[] {
  return [
    handle(userApi.approvals.list, async ({ userId }) => {
      return { approvals: (await conversations.approvals(userId)).map(approvalReply) }
    }),
    handle(userApi.approvals.answer, async ({ userId, params, body }) => {
      const answer = { userId, id: params.id, answer: body.answer, from: 'http' } as const
      return approvalReply(await conversations.answerApproval(answer))
    }),
  ]
}

function approvalReply(approval: Approval) {
  const given = parseAnyJson(approval.arguments)
  return {
    ...approval,
    arguments: given.ok ? given.value : approval.arguments,
    question: approvalQuestion(approval),
  }
}

/** Control of one session. Nothing here waits for a turn. */
export function createSessionControlRoutes(dependencies: HttpDependencies): Route[] {
  const { conversations } = dependencies
  return [
    handle(api.sessions.stop, async ({ context }) => {
      const { id, userId } = await sessionOf(dependencies, context)
      return { stopped: await conversations.stop(userId, id) }
    }),
    handle(api.sessions.queue, async ({ context }) => {
      const { id, userId } = await sessionOf(dependencies, context)
      const queued = await conversations.queue(userId, id)
      return { messages: queued.map(({ text, ...rest }) => ({ ...rest, message: text })) }
    }),
    handle(api.sessions.cancelQueued, async ({ params, context }) => {
      const { id, userId } = await sessionOf(dependencies, context)
      await conversations.cancelQueued(userId, id, params.message)
      return { canceled: true as const }
    }),
    handle(api.sessions.mark, async ({ body, context }) => {
      const { id, userId } = await sessionOf(dependencies, context)
      await conversations.mark(userId, id, body.name)
      return { sessionId: id, name: body.name }
    }),
    handle(api.sessions.rewind, async ({ body, context }) => {
      const { id, userId } = await sessionOf(dependencies, context)
      await conversations.rewind(userId, id, body.mark === undefined ? { turns: body.turns ?? 1 } : { mark: body.mark })
      return { sessionId: id }
    }),
    handle(api.sessions.fork, async ({ body, context }) => {
      const { id, userId } = await sessionOf(dependencies, context)
      return sessionReply(await conversations.fork(userId, id, body.contact))
    }),
    handle(api.sessions.compact, async ({ context }) => {
      const { id, userId } = await sessionOf(dependencies, context)
      return { compacted: await conversations.compact(userId, id) }
    }),
  ]
}
