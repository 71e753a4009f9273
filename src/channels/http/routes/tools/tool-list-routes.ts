import {
  type ToolCallsReply,
  type ToolsReply,
  toolCallsQuerySchema,
  toolCallsReplySchema,
  toolReplySchema,
  toolsReplySchema,
} from '../../../../protocol/tool-api.ts'
import type { ToolCatalog } from '../../../../tools/contract/tool-catalog.ts'
import { callerOf } from '../../guards/token-guard.ts'
import { jsonReply } from '../../json-reply.ts'
import { defineRoute, type Route } from '../../route.ts'
import { callReply, findTool, nameOf, summaryReply, toolReply } from './tool-reply.ts'

/** Which tools there are, what each of them is, and what it did. */
export function createToolListRoutes(tools: ToolCatalog): Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/api/v1/tools',
      summary: 'Every tool with its status; one that is broken too, with the reason.',
      auth: 'token',
      scope: 'read',
      reply: { status: 200, schema: toolsReplySchema },
      async handle({ context }) {
        const list = await tools.list(callerOf(context).userId)
        return jsonReply({ tools: list.map(summaryReply) } satisfies ToolsReply)
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/api/v1/tools/:name',
      summary: 'One tool with its parameters, settings, limits and hosts.',
      auth: 'token',
      scope: 'read',
      reply: { status: 200, schema: toolReplySchema },
      async handle({ context }) {
        return jsonReply(toolReply(await findTool(tools, context)))
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/api/v1/tools/:name/calls',
      summary: 'The calls of a tool, newest first, whoever made them.',
      auth: 'token',
      scope: 'read',
      query: toolCallsQuerySchema,
      reply: { status: 200, schema: toolCallsReplySchema },
      async handle({ context, query }) {
        const calls = await tools.calls(callerOf(context).userId, { tool: nameOf(context), limit: query.limit })
        return jsonReply({ calls: calls.map(callReply) } satisfies ToolCallsReply)
      },
    }),
  ]
}
