import { emptyRequestSchema } from '../../../../protocol/api.ts'
import { capabilityReplySchema, capabilityRollbackRequestSchema } from '../../../../protocol/capability-api.ts'
import type { Capabilities } from '../../../../tools/capabilities/capabilities.ts'
import type { Capability } from '../../../../tools/capabilities/capability.ts'
import { jsonReply } from '../../json-reply.ts'
import { defineRoute, type Route } from '../../route.ts'
import { capabilityReply, findCapability } from './capability-reply.ts'
import { refuseOtherVersion, refuseUnapproved } from './refuse-unapproved.ts'

/** Whether a capability may run, and which of its versions. */
export function createCapabilitySwitchRoutes(capabilities: Capabilities): Route[] {
  const { catalog } = capabilities
  const replyOf = async (changed: Capability) => jsonReply(await capabilityReply(capabilities, changed))

  return [
    defineRoute({
      method: 'POST',
      path: '/api/v1/capabilities/:name/enable',
      summary: 'Let a capability run again. One that was imported is approved on the machine itself.',
      auth: 'token',
      scope: 'owner',
      body: emptyRequestSchema,
      reply: { status: 200, schema: capabilityReplySchema },
      async handle({ context }) {
        const capability = findCapability(capabilities, context)
        refuseUnapproved(capability)
        return replyOf(await catalog.setEnabled(capability.userId, capability.name, true))
      },
    }),
    defineRoute({
      method: 'POST',
      path: '/api/v1/capabilities/:name/disable',
      summary: 'Keep a capability from running.',
      auth: 'token',
      scope: 'owner',
      body: emptyRequestSchema,
      reply: { status: 200, schema: capabilityReplySchema },
      async handle({ context }) {
        const { userId, name } = findCapability(capabilities, context)
        return replyOf(await catalog.setEnabled(userId, name, false))
      },
    }),
    defineRoute({
      method: 'POST',
      path: '/api/v1/capabilities/:name/rollback',
      summary: 'Have an older version serve again, the one before where none is named.',
      auth: 'token',
      scope: 'owner',
      body: capabilityRollbackRequestSchema,
      reply: { status: 200, schema: capabilityReplySchema },
      async handle({ context, body }) {
        const capability = findCapability(capabilities, context)
        refuseUnapproved(capability)
        refuseOtherVersion(context, capability, body.version)
        return replyOf(await catalog.rollback(capability.userId, capability.name, body.version))
      },
    }),
  ]
}
