import { FamiliarError } from '../../../protocol/error.ts'
import { type HealthReply, healthReplySchema } from '../../../protocol/health-api.ts'
import type { HttpHealth } from '../http-observation.ts'
import { jsonReply } from '../json-reply.ts'
import { defineRoute, type Route } from '../route.ts'

/** For whoever spreads requests over daemons. They tell that much and nothing else, so they need no token. */
export function createHealthRoutes({ isReady }: HttpHealth): Route[] {
  const fine: HealthReply = { ok: true }
  return [
    defineRoute({
      method: 'GET',
      path: '/healthz',
      summary: 'Whether the process lives.',
      auth: 'optional',
      scope: 'read',
      reply: { status: 200, schema: healthReplySchema },
      handle: () => jsonReply(fine),
    }),
    defineRoute({
      method: 'GET',
      path: '/readyz',
      summary: 'Whether it takes work: its database answers and it is not stopping; 503 where it does not.',
      auth: 'optional',
      scope: 'read',
      reply: { status: 200, schema: healthReplySchema },
      async handle() {
        if (await isReady()) return jsonReply(fine)
        throw new FamiliarError('unavailable', 'Not ready.')
      },
    }),
  ]
}
