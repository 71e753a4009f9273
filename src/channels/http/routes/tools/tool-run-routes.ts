import { emptyRequestSchema } from '../../../../protocol/api.ts'
import { toolReplySchema, toolRunReplySchema, toolRunRequestSchema } from '../../../../protocol/tool-api.ts'
import type { ToolCatalog } from '../../../../tools/contract/tool-catalog.ts'
import { callerOf } from '../../guards/token-guard.ts'
import { jsonReply } from '../../json-reply.ts'
import { defineRoute, type Route } from '../../route.ts'
import { findTool, nameOf, runReply, toolReply } from './tool-reply.ts'

/** A tool at work, and the switch that lets it. Whoever hangs up ends the run. */
export function createToolRunRoutes(tools: ToolCatalog): Route[] {
  return [
    defineRoute({
      method: 'POST',
      path: '/api/v1/tools/:name/run',
      summary: 'Run a tool by hand. What the tool does wrong is in the answer, not in the status.',
      auth: 'token',
      scope: 'owner',
      body: toolRunRequestSchema,
      reply: { status: 200, schema: toolRunReplySchema },
      async handle({ context, body }) {
        const run = await tools.run({
          userId: callerOf(context).userId,
          name: nameOf(context),
          params: body.params,
          telemetry: given(body.telemetry),
          caller: 'user',
          signal: context.req.raw.signal,
        })
        return jsonReply(runReply(run))
      },
    }),
    ...(['enable', 'disable'] as const).map((word) =>
      defineRoute({
        method: 'POST',
        path: `/api/v1/tools/:name/${word}`,
        summary:
          word === 'enable'
            ? 'Let a tool run: also the word for one that has changed since it was approved.'
            : 'Keep a tool from running.',
        auth: 'token',
        scope: 'owner',
        isOwners: true,
        body: emptyRequestSchema,
        reply: { status: 200, schema: toolReplySchema },
        async handle({ context }) {
          await tools.setEnabled(nameOf(context), word === 'enable')
          return jsonReply(toolReply(await findTool(tools, context)))
        },
      }),
    ),
    defineRoute({
      method: 'POST',
      path: '/api/v1/tools/:name/reload',
      summary: 'Look again at the folders of tools and at what was decided about them, and tell of this one.',
      auth: 'token',
      scope: 'owner',
      isOwners: true,
      body: emptyRequestSchema,
      reply: { status: 200, schema: toolReplySchema },
      async handle({ context }) {
        await tools.reload()
        return jsonReply(toolReply(await findTool(tools, context)))
      },
    }),
  ]
}

/** What was left out is not said to be unknown. */
function given<T extends object>(values: T): { [Key in keyof T]?: Exclude<T[Key], undefined> } {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as {
    [Key in keyof T]?: Exclude<T[Key], undefined>
  }
}
