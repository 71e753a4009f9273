import { emptyRequestSchema } from '../../../../protocol/api.ts'
import {
  type ContractOkReply,
  type ContractToolsReply,
  contractOkReplySchema,
  contractToolsReplySchema,
  type ToolTestReply,
  toolSettingsSchema,
  toolTestReplySchema,
} from '../../../../protocol/tool-api.ts'
import type { ToolCatalog, ToolDetails } from '../../../../tools/contract/tool-catalog.ts'
import { callerOf } from '../../guards/token-guard.ts'
import { jsonReply } from '../../json-reply.ts'
import { defineRoute, type Route } from '../../route.ts'
import { nameOf, summaryReply } from './tool-reply.ts'

/** The paths that the published contract of tools names, with its answers; the others of the API know more. */
export function createContractPathRoutes(tools: ToolCatalog): Route[] {
  const done = () => jsonReply({ ok: true } satisfies ContractOkReply)

  return [
    defineRoute({
      method: 'GET',
      path: '/tools',
      summary: 'Tools with their status and what they are configured with.',
      auth: 'token',
      scope: 'read',
      reply: { status: 200, schema: contractToolsReplySchema },
      async handle({ context }) {
        const { userId } = callerOf(context)
        const listed = (await tools.list(userId)).map(async (summary) => ({
          ...summaryReply(summary),
          config_schema: summary.kind === 'contract' ? configSchema(await tools.show(userId, summary.name)) : {},
        }))
        return jsonReply({ tools: await Promise.all(listed) } satisfies ContractToolsReply)
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/tools/:name/config',
      summary: 'The settings of a tool, with secrets as ***.',
      auth: 'token',
      scope: 'read',
      reply: { status: 200, schema: toolSettingsSchema },
      async handle({ context }) {
        return jsonReply(await tools.config(callerOf(context).userId, nameOf(context)))
      },
    }),
    defineRoute({
      method: 'PUT',
      path: '/tools/:name/config',
      summary: 'Set settings of a tool, by key; the others stay.',
      auth: 'token',
      scope: 'owner',
      body: toolSettingsSchema,
      reply: { status: 200, schema: contractOkReplySchema },
      async handle({ context, body }) {
        await tools.setConfig(callerOf(context).userId, nameOf(context), body)
        return done()
      },
    }),
    defineRoute({
      method: 'DELETE',
      path: '/tools/:name/config/:key',
      summary: 'Take a setting of a tool away.',
      auth: 'token',
      scope: 'owner',
      reply: { status: 200, schema: contractOkReplySchema },
      async handle({ context }) {
        await tools.deleteConfig(callerOf(context).userId, nameOf(context), context.req.param('key') ?? '')
        return done()
      },
    }),
    defineRoute({
      method: 'POST',
      path: '/tools/:name/test',
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

function configSchema(details: ToolDetails | undefined): ContractToolsReply['tools'][number]['config_schema'] {
  const fields = details?.configuration ?? []
  return Object.fromEntries(
    fields.map(({ key, description, isSecret, isRequired, default: byDefault }) => [
      key,
      { description, secret: isSecret, required: isRequired, default: byDefault },
    ]),
  )
}
