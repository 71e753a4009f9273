import { FamiliarError } from '../../../../protocol/error.ts'
import {
  type ChangesReply,
  changesQuerySchema,
  changesReplySchema,
  type ForgotEverythingReply,
  forgetEverythingRequestSchema,
  forgotEverythingReplySchema,
  type UndoReply,
  undoReplySchema,
  undoRequestSchema,
} from '../../../../protocol/memory-api.ts'
import { callerOf } from '../../guards/token-guard.ts'
import type { HttpDependencies } from '../../http-dependencies.ts'
import { jsonReply } from '../../json-reply.ts'
import { defineRoute, type Route } from '../../route.ts'
import { changeReply } from './memory-reply.ts'

/** What was changed or forgotten, how it comes back, and how something goes for good. */
export function createChangeRoutes({ memory: { corrections } }: HttpDependencies): Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/api/v1/memories/changes',
      summary: 'What was changed or forgotten and can still be undone, newest first.',
      auth: 'token',
      scope: 'read',
      query: changesQuerySchema,
      reply: { status: 200, schema: changesReplySchema },
      async handle({ context, query }) {
        const changes = await corrections.changes(callerOf(context).userId, query.limit)
        return jsonReply({ changes: changes.map(changeReply) } satisfies ChangesReply)
      },
    }),
    defineRoute({
      method: 'POST',
      path: '/api/v1/memories/undo',
      summary: 'Undo a change, or the newest one.',
      auth: 'token',
      scope: 'owner',
      body: undoRequestSchema,
      reply: { status: 200, schema: undoReplySchema },
      async handle({ context, body }) {
        const change = await corrections.undo(callerOf(context).userId, body.change)
        if (!change) throw new FamiliarError('not_found', notUndone(body.change))
        return jsonReply({ change: changeReply(change) } satisfies UndoReply)
      },
    }),
    defineRoute({
      method: 'POST',
      path: '/api/v1/memories/forget-everything',
      summary: 'Forget everything about something, in memories and conversations, for good: there is no undo.',
      auth: 'token',
      scope: 'owner',
      body: forgetEverythingRequestSchema,
      reply: { status: 200, schema: forgotEverythingReplySchema },
      async handle({ context, body }) {
        // Whoever stops waiting does not stop it: half forgotten is what nobody asked for.
        const reply: ForgotEverythingReply = await corrections.forgetEverything(callerOf(context).userId, body.about)
        return jsonReply(reply)
      },
    }),
  ]
}

function notUndone(change: string | undefined): string {
  if (change === undefined) return 'There is nothing that can be undone'
  return `There is no change ${JSON.stringify(change)} that can be undone, or the memory was changed or forgotten since: undo that first`
}
