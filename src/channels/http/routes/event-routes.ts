import { parseCursor } from '../../../agent/event-stream.ts'
import { eventsQuerySchema } from '../../../protocol/api.ts'
import { FamiliarError } from '../../../protocol/error.ts'
import { toSentEvents } from '../event-stream-reply.ts'
import type { HttpDependencies } from '../http-dependencies.ts'
import { defineRoute, type Route } from '../route.ts'
import { sessionOf } from '../session-reply.ts'
import type { StreamReply } from '../stream-reply.ts'

export function createEventRoutes(dependencies: HttpDependencies, streamReply: StreamReply): Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/api/v1/sessions/:id/events',
      summary: 'Everything that happens in a session, from a cursor on; a client that comes back misses nothing.',
      auth: 'token',
      scope: 'read',
      query: eventsQuerySchema,
      reply: { status: 200, events: true },
      async handle({ context, query }) {
        // Answered as a GET whose body is thrown away, and a stream that nobody reads would stay open.
        if (context.req.method === 'HEAD') throw new FamiliarError('bad_request', 'A stream has no HEAD')
        const { id, userId } = await sessionOf(dependencies, context)
        const cursor = context.req.header('last-event-id') ?? query.after ?? '0'
        parseCursor(cursor)
        return streamReply(userId, async (signal) => {
          const events = await dependencies.conversations.events(userId, id, cursor, signal)
          return { events: toSentEvents(events), headers: { 'familiar-session-id': id } }
        })
      },
    }),
  ]
}
