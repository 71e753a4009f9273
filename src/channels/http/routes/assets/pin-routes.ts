import type { Pins } from '../../../../assets/blocks/pins.ts'
import {
  pinReplySchema,
  pinRequestSchema,
  pinsQuerySchema,
  pinsReplySchema,
  unpinQuerySchema,
} from '../../../../protocol/asset-api.ts'
import { callerOf } from '../../guards/token-guard.ts'
import { jsonReply } from '../../json-reply.ts'
import { defineRoute, type Route } from '../../route.ts'
import { orRefuse, pinReply, pinsReply } from './asset-reply.ts'

/** Which blocks are in the prompt, and in which order. */
export function createPinRoutes(pins: Pins): Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/api/v1/pins',
      summary: 'The pinned blocks in their order, and what they have of the budget.',
      auth: 'token',
      scope: 'read',
      query: pinsQuerySchema,
      reply: { status: 200, schema: pinsReplySchema },
      async handle({ context, query }) {
        return jsonReply(pinsReply(await pins.list({ userId: callerOf(context).userId, agent: query.agent })))
      },
    }),
    defineRoute({
      method: 'POST',
      path: '/api/v1/pins',
      summary: 'Pin a block, or move it to another place among the pins.',
      auth: 'token',
      scope: 'owner',
      body: pinRequestSchema,
      reply: { status: 200, schema: pinReplySchema },
      async handle({ context, body }) {
        const { label, position, agent } = body
        const owner = { userId: callerOf(context).userId, agent }
        return jsonReply(pinReply(orRefuse(await pins.pin(owner, { path: label, position })).pin))
      },
    }),
    defineRoute({
      method: 'DELETE',
      path: '/api/v1/pins',
      summary: 'Take a block out of the prompt. It stays as it is.',
      auth: 'token',
      scope: 'owner',
      query: unpinQuerySchema,
      reply: { status: 200, schema: pinsReplySchema },
      async handle({ context, query }) {
        const owner = { userId: callerOf(context).userId, agent: query.agent }
        return jsonReply(pinsReply(orRefuse(await pins.unpin(owner, { path: query.label }))))
      },
    }),
  ]
}
