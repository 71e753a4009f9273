import type { Fact } from '../../../../memory/facts.ts'
import { FamiliarError } from '../../../../protocol/error.ts'
import {
  type AttributeReply,
  attributeReplySchema,
  attributeRequestSchema,
  type FactsReply,
  factRequestSchema,
  factsQuerySchema,
  factsReplySchema,
  type WrittenFactReply,
  writtenFactReplySchema,
} from '../../../../protocol/fact-api.ts'
import { callerOf } from '../../guards/token-guard.ts'
import type { HttpDependencies } from '../../http-dependencies.ts'
import { jsonReply } from '../../json-reply.ts'
import { defineRoute, type Route } from '../../route.ts'
import { factReply } from './memory-reply.ts'

/** What is true of whom. */
export function createFactRoutes({ memory: { facts, corrections } }: HttpDependencies): Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/api/v1/memories/facts',
      summary: 'Facts by entity (any of its names), attribute and value; with history=true also what was true before.',
      auth: 'token',
      scope: 'read',
      query: factsQuerySchema,
      reply: { status: 200, schema: factsReplySchema },
      async handle({ context, query }) {
        const { userId } = callerOf(context)
        const { entity, attribute, value, limit } = query
        const question = { userId, entity, attribute, value }
        const found = await facts.find({ ...question, limit, history: query.history === 'true' })
        const reply: FactsReply = {
          facts: found.map(factReply),
          ...(query.count === 'true' && { entities: await facts.count(question) }),
        }
        return jsonReply(reply)
      },
    }),
    defineRoute({
      method: 'POST',
      path: '/api/v1/memories/facts',
      summary: 'State a fact. The same value confirms the known one, another one replaces it.',
      auth: 'token',
      scope: 'owner',
      body: factRequestSchema,
      reply: { status: 201, schema: writtenFactReplySchema },
      async handle({ context, body }) {
        const { written, changeId } = await corrections.stateFact({ ...body, userId: callerOf(context).userId })
        if (written.outcome === 'refused') throw knownSurer(written.known)
        const reply: WrittenFactReply = {
          outcome: written.outcome,
          fact: factReply(written.fact),
          old: written.outcome === 'replaced' ? factReply(written.old) : null,
          change_id: changeId,
        }
        return jsonReply(reply, { status: 201 })
      },
    }),
    defineRoute({
      method: 'POST',
      path: '/api/v1/memories/attributes',
      summary: 'Declare that an attribute may hold several values at once.',
      auth: 'token',
      scope: 'owner',
      body: attributeRequestSchema,
      reply: { status: 201, schema: attributeReplySchema },
      async handle({ context, body }) {
        await facts.declareMultiValued(callerOf(context).userId, body.attribute)
        return jsonReply(body satisfies AttributeReply, { status: 201 })
      },
    }),
  ]
}

function knownSurer({ entity, attribute, value, confidence }: Fact): FamiliarError {
  return new FamiliarError(
    'conflict',
    `It is known with more certainty that ${entity}: ${attribute} is ${value}. Say it with a confidence of ${confidence} or more to replace that.`,
  )
}
