import { emptyRequestSchema } from '../../../protocol/api.ts'
import {
  type HookSecretReply,
  hookSecretReplySchema,
  type TriggerRunsReply,
  triggerRunsQuerySchema,
  triggerRunsReplySchema,
} from '../../../protocol/trigger-api.ts'
import { callerOf } from '../guards/token-guard.ts'
import type { HttpTriggers } from '../http-dependencies.ts'
import { jsonReply } from '../json-reply.ts'
import { defineRoute, type Route } from '../route.ts'

/** When tools ran without being asked, when they did not, and when they will; and who may make them. */
export function createTriggerRoutes(triggers: HttpTriggers): Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/api/v1/tools/:name/runs',
      summary: 'The runs of a tool by schedule or webhook, newest first, late and missed ones too.',
      auth: 'token',
      scope: 'read',
      query: triggerRunsQuerySchema,
      reply: { status: 200, schema: triggerRunsReplySchema },
      async handle({ context, query }) {
        const tool = context.req.param('name') ?? ''
        const runs = await triggers.runs(callerOf(context).userId, { tool, limit: query.limit })
        return jsonReply({ runs } satisfies TriggerRunsReply)
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/api/v1/runs',
      summary: 'The same of all tools.',
      auth: 'token',
      scope: 'read',
      query: triggerRunsQuerySchema,
      reply: { status: 200, schema: triggerRunsReplySchema },
      async handle({ context, query }) {
        const runs = await triggers.runs(callerOf(context).userId, query)
        return jsonReply({ runs } satisfies TriggerRunsReply)
      },
    }),
    defineRoute({
      method: 'POST',
      path: '/api/v1/tools/:name/hook',
      summary: 'Make a new secret for the callers of a tool’s webhook. Shown this once.',
      auth: 'token',
      scope: 'owner',
      body: emptyRequestSchema,
      reply: { status: 201, schema: hookSecretReplySchema, showsSecret: true },
      async handle({ context }) {
        const tool = context.req.param('name') ?? ''
        const secret = await triggers.makeHookSecret(callerOf(context).userId, tool)
        return jsonReply({ path: `/hooks/${tool}`, secret } satisfies HookSecretReply, { status: 201 })
      },
    }),
  ]
}
