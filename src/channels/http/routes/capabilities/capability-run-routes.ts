import { type BuildReply, buildReplySchema } from '../../../../protocol/build-api.ts'
import {
  type CapabilitySecretReply,
  capabilityRepairRequestSchema,
  capabilityRunReplySchema,
  capabilityRunRequestSchema,
  capabilitySecretReplySchema,
  capabilitySecretRequestSchema,
} from '../../../../protocol/capability-api.ts'
import { FamiliarError } from '../../../../protocol/error.ts'
import type { Capabilities } from '../../../../tools/capabilities/capabilities.ts'
import { type Capability, secretOwnerOf } from '../../../../tools/capabilities/capability.ts'
import { jsonReply } from '../../json-reply.ts'
import { defineRoute, type Route } from '../../route.ts'
import { buildReply } from './build-reply.ts'
import { findCapability, runReply } from './capability-reply.ts'
import { refuseOtherVersion, refuseUnapproved } from './refuse-unapproved.ts'

/** A capability at work, what it is given for it, and the build that mends it. Whoever hangs up ends the run. */
export function createCapabilityRunRoutes(capabilities: Capabilities): Route[] {
  const { runs, builds, vault } = capabilities

  /** Whether a build was waiting for it, which then goes on. */
  async function keepSecret({ userId, name, permissions, state }: Capability, key: string, value: string) {
    const asked = (await builds.questions(userId)).some((one) => one.name === name && one.secret === key)
    const declared = permissions.secrets.map((secret) => secret.name)
    // While it is built, what it will declare is not known yet, and a question for it may have expired.
    if (!asked && !declared.includes(key) && !(state === 'building' && secretName.test(key))) {
      const known = declared.length > 0 ? `It has: ${declared.join(', ')}.` : 'It has none at all.'
      throw new FamiliarError(
        'bad_request',
        `${name} declares no secret ${JSON.stringify(key.slice(0, 100))}. ${known}`,
      )
    }
    await vault.set({ userId, owner: secretOwnerOf(name), name: key }, value)
    await builds.noticeSecret(userId, name, key)
    return asked
  }

  return [
    defineRoute({
      method: 'POST',
      path: '/api/v1/capabilities/:name/run',
      summary: 'Run a capability by hand. What the capability does wrong is in the answer, not in the status.',
      auth: 'token',
      scope: 'chat',
      body: capabilityRunRequestSchema,
      reply: { status: 200, schema: capabilityRunReplySchema },
      async handle({ context, body }) {
        const capability = findCapability(capabilities, context)
        if (body.version !== undefined) refuseOtherVersion(context, capability, body.version)
        const { userId, name } = capability
        const run = await runs.run({
          userId,
          name,
          version: body.version,
          input: body.args,
          caller: 'user',
          signal: context.req.raw.signal,
        })
        return jsonReply(runReply(run))
      },
    }),
    defineRoute({
      method: 'POST',
      path: '/api/v1/capabilities/:name/repair',
      summary: 'Have a capability mended in the background; the version that is there serves until the new one passes.',
      auth: 'token',
      scope: 'chat',
      body: capabilityRepairRequestSchema,
      reply: { status: 202, schema: buildReplySchema },
      async handle({ context, body }) {
        const capability = findCapability(capabilities, context)
        refuseUnapproved(capability)
        const { userId, name } = capability
        const build = await capabilities.repair({ userId, name, problem: body.problem })
        return jsonReply(buildReply(build) satisfies BuildReply, { status: 202 })
      },
    }),
    defineRoute({
      method: 'PUT',
      path: '/api/v1/capabilities/:name/secrets/:key',
      summary: 'Give a capability a secret that it declares or that its build asks for. It never comes out again.',
      auth: 'token',
      scope: 'owner',
      body: capabilitySecretRequestSchema,
      reply: { status: 200, schema: capabilitySecretReplySchema },
      async handle({ context, body }) {
        const capability = findCapability(capabilities, context)
        const was_awaited = await keepSecret(capability, context.req.param('key') ?? '', body.value)
        return jsonReply({ was_awaited } satisfies CapabilitySecretReply)
      },
    }),
  ]
}

const secretName = /^[A-Za-z][A-Za-z0-9_]{0,63}$/
