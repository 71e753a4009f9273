import { emptyRequestSchema } from '../../../../protocol/api.ts'
import {
  type ToolConfigReply,
  type ToolTestReply,
  toolConfigReplySchema,
  toolSettingsSchema,
  toolTestReplySchema,
} from '../../../../protocol/tool-api.ts'
import type { ToolCatalog } from '../../../../tools/contract/tool-catalog.ts'
import { callerOf } from '../../guards/token-guard.ts'
import type { HttpContext } from '../../http-dependencies.ts'
import { jsonReply } from '../../json-reply.ts'
import { defineRoute, type Route } from '../../route.ts'
import { nameOf } from './tool-reply.ts'

/** What the user has set for a tool. Secrets go in and never come out. */
export function createToolConfigRoutes(tools: ToolCatalog): Route[] {
  async function configReply(context: HttpContext): Promise<Response> {
    const config = await tools.config(callerOf(context).userId, nameOf(context))
    return jsonReply({ config } satisfies ToolConfigReply)
  }

  return [
    defineRoute({
      method: 'GET',
      path: '/api/v1/tools/:name/config',
      summary: 'The settings of a tool, with secrets as ***.',
      auth: 'token',
      scope: 'read',
      reply: { status: 200, schema: toolConfigReplySchema },
      handle: ({ context }) => configReply(context),
    }),
    defineRoute({
      method: 'PUT',
      path: '/api/v1/tools/:name/config',
      summary: 'Set settings of a tool, by key; the others stay. *** keeps the secret that is set.',
      auth: 'token',
      scope: 'owner',
      body: toolSettingsSchema,
      reply: { status: 200, schema: toolConfigReplySchema },
      async handle({ context, body }) {
        await tools.setConfig(callerOf(context).userId, nameOf(context), body)
        return configReply(context)
      },
    }),
    defineRoute({
      method: 'DELETE',
      path: '/api/v1/tools/:name/config/:key',
      summary: 'Take a setting of a tool away.',
      auth: 'token',
      scope: 'owner',
      reply: { status: 200, schema: toolConfigReplySchema },
      async handle({ context }) {
        await tools.deleteConfig(callerOf(context).userId, nameOf(context), context.req.param('key') ?? '')
        return configReply(context)
      },
    }),
    defineRoute({
      method: 'POST',
      path: '/api/v1/tools/:name/test',
      summary: 'Whether everything is set that a tool needs. Runs nothing.',
      auth: 'token',
      scope: 'owner',
      body: emptyRequestSchema,
      reply: { status: 200, schema: toolTestReplySchema },
      async handle({ context }) {
        return jsonReply((await tools.test(callerOf(context).userId, nameOf(context))) satisfies ToolTestReply)
      },
    }),
  ]
}
