import { chatQuerySchema } from '../../../protocol/api.ts'
import { toolResultsRequestSchema, turnReplySchema } from '../../../protocol/client-tool-api.ts'
import type { HttpDependencies } from '../http-dependencies.ts'
import { defineRoute, type Route } from '../route.ts'
import { sessionOf } from '../session-reply.ts'
import { waitForReply } from '../wait-for-reply.ts'

/** What clients answer to the calls that they were asked to make. */
export function createClientToolRoutes(dependencies: HttpDependencies): Route[] {
  const { conversations } = dependencies
  return [
    defineRoute({
      method: 'POST',
      path: '/api/v1/sessions/:id/tool-results',
      summary: 'Tell what came of the calls that the client was asked to make, and get the rest of the turn.',
      auth: 'token',
      scope: 'chat',
      body: toolResultsRequestSchema,
      query: chatQuerySchema,
      reply: { status: 200, schema: turnReplySchema },
      async handle({ context, body, query }) {
        const { id: sessionId, userId } = await sessionOf(dependencies, context)
        const results = body.results.map(({ call_id, result, is_error, untrusted }) => ({
          callId: call_id,
          result,
          isError: is_error,
          isUntrusted: untrusted,
        }))
        const { messageId } = await conversations.giveToolResults({ userId, sessionId, results })
        return waitForReply(dependencies, context, { messageId, sessionId, timeoutSeconds: query.timeout_seconds })
      },
    }),
  ]
}
