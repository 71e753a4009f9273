import {
  type CompactReply,
  compactReplySchema,
  emptyRequestSchema,
  forkRequestSchema,
  type MarkReply,
  markReplySchema,
  markRequestSchema,
  type RewindReply,
  rewindReplySchema,
  rewindRequestSchema,
  type StopReply,
  sessionReplySchema,
  stopReplySchema,
} from '../../../protocol/api.ts'
import type { HttpDependencies } from '../http-dependencies.ts'
import { jsonReply } from '../json-reply.ts'
import { defineRoute, type Route } from '../route.ts'
import { sessionOf, sessionReply } from '../session-reply.ts'

/** What can be done to one session. None of it waits behind a turn. */
export function createSessionControlRoutes(dependencies: HttpDependencies): Route[] {
  const { conversations } = dependencies
  return [
    defineRoute({
      method: 'POST',
      path: '/api/v1/sessions/:id/stop',
      summary: 'Stop the turn that is running.',
      auth: 'token',
      scope: 'chat',
      body: emptyRequestSchema,
      reply: { status: 200, schema: stopReplySchema },
      async handle({ context }) {
        const { id, userId } = await sessionOf(dependencies, context)
        return jsonReply({ stopped: await conversations.stop(userId, id) } satisfies StopReply)
      },
    }),
    defineRoute({
      method: 'POST',
      path: '/api/v1/sessions/:id/mark',
      summary: 'Name this place, to come back to it.',
      auth: 'token',
      scope: 'owner',
      body: markRequestSchema,
      reply: { status: 200, schema: markReplySchema },
      async handle({ context, body }) {
        const { id, userId } = await sessionOf(dependencies, context)
        await conversations.mark(userId, id, body.name)
        return jsonReply({ session_id: id, name: body.name } satisfies MarkReply)
      },
    }),
    defineRoute({
      method: 'POST',
      path: '/api/v1/sessions/:id/rewind',
      summary: 'Go back to a mark, or by a number of turns. The log keeps what came after.',
      auth: 'token',
      scope: 'owner',
      body: rewindRequestSchema,
      reply: { status: 200, schema: rewindReplySchema },
      async handle({ context, body }) {
        const { id, userId } = await sessionOf(dependencies, context)
        await conversations.rewind(
          userId,
          id,
          body.mark === undefined ? { turns: body.turns ?? 1 } : { mark: body.mark },
        )
        return jsonReply({ session_id: id } satisfies RewindReply)
      },
    }),
    defineRoute({
      method: 'POST',
      path: '/api/v1/sessions/:id/fork',
      summary: 'Begin a new session under another contact that holds the same so far.',
      auth: 'token',
      scope: 'owner',
      body: forkRequestSchema,
      reply: { status: 201, schema: sessionReplySchema },
      async handle({ context, body }) {
        const { id, userId } = await sessionOf(dependencies, context)
        return jsonReply(sessionReply(await conversations.fork(userId, id, body.contact)), { status: 201 })
      },
    }),
    defineRoute({
      method: 'POST',
      path: '/api/v1/sessions/:id/compact',
      summary: 'Summarise the oldest part now.',
      auth: 'token',
      scope: 'owner',
      body: emptyRequestSchema,
      reply: { status: 200, schema: compactReplySchema },
      async handle({ context }) {
        const { id, userId } = await sessionOf(dependencies, context)
        return jsonReply({ compacted: await conversations.compact(userId, id) } satisfies CompactReply)
      },
    }),
  ]
}
