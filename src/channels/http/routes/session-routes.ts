import {
  type ContextReply,
  contextReplySchema,
  type HistoryReply,
  historyQuerySchema,
  historyReplySchema,
  type ResetReply,
  resetReplySchema,
  resetRequestSchema,
  type SessionsReply,
  sessionsQuerySchema,
  sessionsReplySchema,
} from '../../../protocol/api.ts'
import { callerOf } from '../guards/token-guard.ts'
import { toHistoryEvents } from '../history-events.ts'
import type { HttpDependencies } from '../http-dependencies.ts'
import { isSessionId } from '../inbound-message.ts'
import { jsonReply } from '../json-reply.ts'
import { defineRoute, type Route } from '../route.ts'
import { sessionOf, sessionReply } from '../session-reply.ts'

/** The sessions and what is in them. */
export function createSessionRoutes(dependencies: HttpDependencies): Route[] {
  const { conversations } = dependencies
  return [
    defineRoute({
      method: 'GET',
      path: '/api/v1/sessions',
      summary: 'The active sessions, newest first; with archived=true the archived ones too.',
      auth: 'token',
      scope: 'read',
      query: sessionsQuerySchema,
      reply: { status: 200, schema: sessionsReplySchema },
      async handle({ context, query }) {
        const options = { includeArchived: query.archived === 'true' }
        const sessions = await conversations.sessions(callerOf(context).userId, options)
        return jsonReply({ sessions: sessions.map(sessionReply) } satisfies SessionsReply)
      },
    }),
    defineRoute({
      method: 'POST',
      path: '/api/v1/sessions/reset',
      summary: 'Archive sessions: "all", those with one contact, or one by its id. Nothing is deleted.',
      auth: 'token',
      scope: 'owner',
      body: resetRequestSchema,
      reply: { status: 200, schema: resetReplySchema },
      async handle({ context, body }) {
        const archived = await conversations.reset(callerOf(context).userId, resetTarget(body.target))
        return jsonReply({ archived: archived.map(sessionReply) } satisfies ResetReply)
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/api/v1/sessions/:id/history',
      summary: 'What was said; with full=true every event of the log, tool calls included.',
      auth: 'token',
      scope: 'read',
      query: historyQuerySchema,
      reply: { status: 200, schema: historyReplySchema },
      async handle({ context, query }) {
        const { id, userId } = await sessionOf(dependencies, context)
        const { after, limit } = query
        const events = await conversations.history(userId, id, { after, limit })
        const reply: HistoryReply = {
          session_id: id,
          events: toHistoryEvents(events, { full: query.full === 'true' }),
          next_after: events.length === limit ? (events.at(-1)?.seq ?? null) : null,
        }
        return jsonReply(reply)
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/api/v1/sessions/:id/context',
      summary: 'What fills the window of the model.',
      auth: 'token',
      scope: 'read',
      reply: { status: 200, schema: contextReplySchema },
      async handle({ context }) {
        const { id, userId } = await sessionOf(dependencies, context)
        const report = await conversations.contextReport(userId, id)
        const reply: ContextReply = {
          tokenizer: report.tokenizer,
          last_request_tokens: report.lastRequestTokens,
          threshold_tokens: report.thresholdTokens,
          blocks: report.blocks,
        }
        return jsonReply(reply)
      },
    }),
  ]
}

function resetTarget(target: string): { all: true } | { sessionId: string } | { contact: string } {
  if (target === 'all') return { all: true }
  return isSessionId(target) ? { sessionId: target } : { contact: target }
}
