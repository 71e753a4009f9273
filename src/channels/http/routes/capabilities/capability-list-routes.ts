import {
  type CapabilitiesReply,
  type CapabilityDiffReply,
  type CapabilityProposalsReply,
  capabilitiesQuerySchema,
  capabilitiesReplySchema,
  capabilityDiffQuerySchema,
  capabilityDiffReplySchema,
  capabilityProposalsReplySchema,
  capabilityReplySchema,
} from '../../../../protocol/capability-api.ts'
import { type ToolCallsReply, toolCallsQuerySchema, toolCallsReplySchema } from '../../../../protocol/tool-api.ts'
import type { Capabilities } from '../../../../tools/capabilities/capabilities.ts'
import { toolNameOf } from '../../../../tools/capabilities/capability.ts'
import { callerOf } from '../../guards/token-guard.ts'
import { jsonReply } from '../../json-reply.ts'
import { defineRoute, type Route } from '../../route.ts'
import { callReply } from '../tools/tool-reply.ts'
import { capabilityReply, findCapability, summaryReply } from './capability-reply.ts'

const mostFound = 50

/** Which capabilities there are, what each of them is, and what it did. */
export function createCapabilityListRoutes(capabilities: Capabilities): Route[] {
  const { catalog, search, audit } = capabilities

  return [
    defineRoute({
      method: 'GET',
      path: '/api/v1/capabilities',
      summary: 'Every capability with its state; with a query those that fit, best first.',
      auth: 'token',
      scope: 'read',
      query: capabilitiesQuerySchema,
      reply: { status: 200, schema: capabilitiesReplySchema },
      async handle({ context, query }) {
        const { userId } = callerOf(context)
        const { state, query: text } = query
        const listed =
          text === undefined
            ? catalog.list(userId, state === undefined ? {} : { state })
            : (await search.search({ userId, text, limit: mostFound, signal: context.req.raw.signal }))
                .map(({ capability }) => capability)
                .filter((capability) => state === undefined || capability.state === state)
        return jsonReply({ capabilities: listed.map(summaryReply) } satisfies CapabilitiesReply)
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/api/v1/capabilities/proposals',
      summary: 'Capabilities that are unused or superseded, with the reason. Nothing is archived by itself.',
      auth: 'token',
      scope: 'read',
      reply: { status: 200, schema: capabilityProposalsReplySchema },
      async handle({ context }) {
        const proposals = await catalog.proposals(callerOf(context).userId)
        return jsonReply({ proposals } satisfies CapabilityProposalsReply)
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/api/v1/capabilities/:name',
      summary: 'One capability with its permissions, versions, statistics and newest build.',
      auth: 'token',
      scope: 'read',
      reply: { status: 200, schema: capabilityReplySchema },
      async handle({ context }) {
        return jsonReply(await capabilityReply(capabilities, findCapability(capabilities, context)))
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/api/v1/capabilities/:name/diff',
      summary: 'What changed between two versions; without any, between the one that serves and the one before.',
      auth: 'token',
      scope: 'read',
      query: capabilityDiffQuerySchema,
      reply: { status: 200, schema: capabilityDiffReplySchema },
      async handle({ context, query }) {
        const { userId, name } = findCapability(capabilities, context)
        const { from, to, files } = await capabilities.difference({ userId, name, ...query })
        return jsonReply({ from, to, files: [...files] } satisfies CapabilityDiffReply)
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/api/v1/capabilities/:name/calls',
      summary: 'The calls of a capability, newest first, whoever made them.',
      auth: 'token',
      scope: 'read',
      query: toolCallsQuerySchema,
      reply: { status: 200, schema: toolCallsReplySchema },
      async handle({ context, query }) {
        const { userId, name } = findCapability(capabilities, context)
        const calls = await audit.list(userId, { tool: toolNameOf(name), limit: query.limit })
        return jsonReply({ calls: calls.map(callReply) } satisfies ToolCallsReply)
      },
    }),
  ]
}
