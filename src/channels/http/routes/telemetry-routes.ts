import { telemetryReplySchema, telemetryRequestSchema } from '../../../protocol/trigger-api.ts'
import type { ClientTelemetry } from '../../../tools/client-telemetry.ts'
import { callerOf } from '../guards/token-guard.ts'
import { jsonReply } from '../json-reply.ts'
import { defineRoute, type Route } from '../route.ts'

/** What tools are told of the client that its user speaks through. */
export function createTelemetryRoutes(telemetry: Pick<ClientTelemetry, 'keep'>): Route[] {
  return [
    defineRoute({
      method: 'PUT',
      path: '/api/v1/telemetry',
      summary: 'Tell of this client: language, device and, with "place_consent", the place. Forgotten after an hour.',
      auth: 'token',
      scope: 'chat',
      body: telemetryRequestSchema,
      reply: { status: 200, schema: telemetryReplySchema },
      async handle({ context, body }) {
        return jsonReply(await telemetry.keep(callerOf(context).userId, body))
      },
    }),
  ]
}
