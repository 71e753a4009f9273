import { type HookReply, hookReplySchema } from '../../../protocol/trigger-api.ts'
import { signedCallOf } from '../guards/signature-guard.ts'
import type { HttpSettings } from '../http-dependencies.ts'
import { jsonReply } from '../json-reply.ts'
import { defineRoute, type Route } from '../route.ts'
import type { Webhooks } from '../webhook-call.ts'

const defaultMaxHookBytes = 512_000

/** Where programs outside leave what a tool is waiting for. */
export function createHookRoutes(dependencies: { webhooks: Webhooks; settings: HttpSettings }): Route[] {
  const { webhooks, settings } = dependencies
  const route = (path: string) =>
    defineRoute({
      method: 'POST',
      path,
      summary: 'Run a tool that is triggered by a webhook. Kept for good when this answers.',
      auth: 'signature',
      scope: 'read',
      // No type that a form of a foreign page can send.
      rawBody: {
        mediaTypes: ['application/json', 'application/octet-stream'],
        maxBytes: settings.maxHookBytes ?? defaultMaxHookBytes,
      },
      reply: { status: 202, schema: hookReplySchema },
      async handle({ context }) {
        const { runId } = await webhooks.accept(signedCallOf(context))
        const reply: HookReply = { run_id: runId }
        return jsonReply(reply, { status: 202 })
      },
    })
  return [route('/hooks/:tool'), route('/api/v1/hooks/:tool')]
}
