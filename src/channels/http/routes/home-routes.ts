import {
  doctorReplySchema,
  doctorRequestSchema,
  modelsReplySchema,
  settingsReplySchema,
} from '../../../protocol/home-api.ts'
import { callerOf } from '../guards/token-guard.ts'
import type { HttpHome } from '../http-home.ts'
import { jsonReply } from '../json-reply.ts'
import { defineRoute, type Route } from '../route.ts'

/** How sound the home is, what is configured, and who answers. To be looked at: what is configured is changed in its files (SEC-4). */
export function createHomeRoutes(home: HttpHome): Route[] {
  async function doctorReply(network: boolean): Promise<Response> {
    const findings = await home.examine({ network })
    return jsonReply({ ok: !findings.some(({ state }) => state === 'fail'), findings })
  }

  return [
    defineRoute({
      method: 'GET',
      path: '/api/v1/doctor',
      summary: 'What "familiar doctor" finds. Nobody outside is asked.',
      auth: 'token',
      scope: 'read',
      isOwners: true,
      reply: { status: 200, schema: doctorReplySchema },
      handle: () => doctorReply(false),
    }),
    defineRoute({
      method: 'POST',
      path: '/api/v1/doctor',
      summary: 'The same; with network also whether the servers that are configured answer.',
      auth: 'token',
      scope: 'owner',
      isOwners: true,
      body: doctorRequestSchema,
      reply: { status: 200, schema: doctorReplySchema },
      handle: ({ body }) => doctorReply(body.network),
    }),
    defineRoute({
      method: 'GET',
      path: '/api/v1/settings',
      summary: 'What is configured, and where each value is set.',
      auth: 'token',
      scope: 'read',
      isOwners: true,
      reply: { status: 200, schema: settingsReplySchema },
      handle: () => jsonReply(home.settings()),
    }),
    defineRoute({
      method: 'GET',
      path: '/api/v1/models',
      summary: 'The models that the caller may use, what each is for and what it costs.',
      auth: 'token',
      scope: 'read',
      reply: { status: 200, schema: modelsReplySchema },
      handle({ context }) {
        const { userId, isOwner } = callerOf(context)
        return jsonReply(home.models(userId, isOwner))
      },
    }),
  ]
}
