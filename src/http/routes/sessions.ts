import * as api from '../../protocol/api.ts'
import { createSessionHandler, sessionReply, toHistoryEvents } from '../chat-replies.ts'
import type { HttpDependencies } from '../dependencies.ts'
import { isSessionId } from '../inbound-message.ts'
import { handle, type Route } from '../route.ts'

/** Sessions: their content and their control. */
export function createSessionRoutes(dependencies: HttpDependencies): Route[] {
  const { conversations } = dependencies
  const inSession = createSessionHandler(dependencies)
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
    inSession(api.sessions.history, async ({ userId, session, query }) => {
      const { after, limit } = query
      const events = await conversations.history(userId, session.id, { after, limit })
      return {
        sessionId: session.id,
        events: toHistoryEvents(events, { full: query.full === 'true' }),
        nextAfter: events.length === limit ? (events.at(-1)?.seq ?? null) : null,
      }
    }),
    inSession(api.sessions.context, async ({ userId, session }) => conversations.contextReport(userId, session.id)),
    // None of the following waits for a turn.
    inSession(api.sessions.stop, async ({ userId, session }) => ({
      stopped: await conversations.stop(userId, session.id),
    })),
    inSession(api.sessions.queue, async ({ userId, session }) => {
      const queued = await conversations.queue(userId, session.id)
      return { messages: queued.map(({ text, ...rest }) => ({ ...rest, message: text })) }
    }),
    inSession(api.sessions.cancelQueued, async ({ userId, session, params }) => {
      await conversations.cancelQueued(userId, session.id, params.message)
      return { canceled: true as const }
    }),
    inSession(api.sessions.mark, async ({ userId, session, body }) => {
      await conversations.mark(userId, session.id, body.name)
      return { sessionId: session.id, name: body.name }
    }),
    inSession(api.sessions.rewind, async ({ userId, session, body }) => {
      const { mark, turns = 1 } = body
      await conversations.rewind(userId, session.id, mark === undefined ? { turns } : { mark })
      return { sessionId: session.id }
    }),
    inSession(api.sessions.fork, async ({ userId, session, body }) =>
      sessionReply(await conversations.fork(userId, session.id, body.contact)),
    ),
    inSession(api.sessions.compact, async ({ userId, session }) => ({
      compacted: await conversations.compact(userId, session.id),
    })),
  ]
}

function resetTarget(target: string): { all: true } | { sessionId: string } | { contact: string } {
  if (target === 'all') return { all: true }
  return isSessionId(target) ? { sessionId: target } : { contact: target }
}
