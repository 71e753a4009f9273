import { toDisplayText } from '../../../base/text.ts'
import { emptyRequestSchema } from '../../../protocol/api.ts'
import type { Json } from '../../../protocol/json.ts'
import * as api from '../../../protocol/outbox-api.ts'
import type { Outbox, OutboxItem } from '../../outbox/outbox.ts'
import { callerOf } from '../guards/token-guard.ts'
import { isoTime } from '../iso-time.ts'
import { jsonReply } from '../json-reply.ts'
import { defineRoute, type Route } from '../route.ts'

const base = '/api/v1/outbox'
const previewLength = 120

/** What goes out, what of it arrived, and a second try. Whoever may speak for the user may have their words sent again. */
export function createOutboxRoutes(outbox: Pick<Outbox, 'list' | 'counts' | 'show' | 'retry' | 'cancel'>): Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: base,
      summary: 'What goes out or went out, newest first, and how many there are in each state.',
      auth: 'token',
      scope: 'read',
      query: api.outboxQuerySchema,
      reply: { status: 200, schema: api.outboxReplySchema },
      async handle({ context, query }) {
        const { userId } = callerOf(context)
        const { state, channel, limit } = query
        const items = await outbox.list(userId, { limit, ...(state && { state }), ...(channel && { channel }) })
        const counts = await outbox.counts(userId)
        return jsonReply({ items: items.map(itemReply), counts } satisfies api.OutboxReply)
      },
    }),
    defineRoute({
      method: 'GET',
      path: `${base}/:id`,
      summary: 'One with all that it says.',
      auth: 'token',
      scope: 'read',
      reply: { status: 200, schema: api.shownOutboxItemReplySchema },
      async handle({ context }) {
        const item = await outbox.show(callerOf(context).userId, context.req.param('id') ?? '')
        return jsonReply({ ...itemReply(item), payload: item.payload } satisfies api.ShownOutboxItemReply)
      },
    }),
    defineRoute({
      method: 'POST',
      path: `${base}/:id/retry`,
      summary: 'Try again now what failed, waits, or may not have arrived.',
      auth: 'token',
      scope: 'chat',
      body: emptyRequestSchema,
      reply: { status: 200, schema: api.outboxItemReplySchema },
      async handle({ context }) {
        const item = await outbox.retry(callerOf(context).userId, context.req.param('id') ?? '')
        return jsonReply(itemReply(item))
      },
    }),
    defineRoute({
      method: 'POST',
      path: `${base}/:id/cancel`,
      summary: 'Do not send what still waits.',
      auth: 'token',
      scope: 'chat',
      body: emptyRequestSchema,
      reply: { status: 200, schema: api.outboxItemReplySchema },
      async handle({ context }) {
        const item = await outbox.cancel(callerOf(context).userId, context.req.param('id') ?? '')
        return jsonReply(itemReply(item))
      },
    }),
  ]
}

function itemReply(item: OutboxItem): api.OutboxItemReply {
  return {
    id: item.id,
    channel: item.channel,
    address: item.address,
    state: item.state,
    attempts: item.attempts,
    next_at: item.nextAt === null ? null : isoTime(item.nextAt),
    error: item.error,
    external_id: item.externalId,
    session_id: item.sessionId,
    repeats: item.repeats,
    preview: previewOf(item.payload),
    created_at: isoTime(item.createdAt),
    updated_at: isoTime(item.updatedAt),
  }
}

/** The text where it has one; otherwise the first words that it has. */
function previewOf(payload: Json): string {
  const fields = typeof payload === 'object' && payload !== null && !Array.isArray(payload) ? payload : {}
  const words = [fields.text, fields.name, fields.emoji, fields.kind].find((value) => typeof value === 'string') ?? ''
  return toDisplayText(String(words)).slice(0, previewLength).toWellFormed()
}
