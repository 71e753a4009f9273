import { FamiliarError } from '../../../../protocol/error.ts'
import {
  type AddedAliasReply,
  type AliasesReply,
  addedAliasReplySchema,
  aliasesReplySchema,
  aliasQuerySchema,
  aliasRequestSchema,
  type RemovedReply,
  removedReplySchema,
} from '../../../../protocol/fact-api.ts'
import { callerOf } from '../../guards/token-guard.ts'
import type { HttpDependencies } from '../../http-dependencies.ts'
import { jsonReply } from '../../json-reply.ts'
import { defineRoute, type Route } from '../../route.ts'

const path = '/api/v1/memories/aliases'

/** Other names of people and things. */
export function createAliasRoutes({ memory: { aliases } }: HttpDependencies): Route[] {
  return [
    defineRoute({
      method: 'GET',
      path,
      summary: 'Every name that stands for another one.',
      auth: 'token',
      scope: 'read',
      reply: { status: 200, schema: aliasesReplySchema },
      async handle({ context }) {
        return jsonReply({ aliases: await aliases.list(callerOf(context).userId) } satisfies AliasesReply)
      },
    }),
    defineRoute({
      method: 'POST',
      path,
      summary: 'Say that a name stands for somebody or something.',
      auth: 'token',
      scope: 'owner',
      body: aliasRequestSchema,
      reply: { status: 201, schema: addedAliasReplySchema },
      async handle({ context, body }) {
        const isNew = await aliases.add(callerOf(context).userId, body.alias, body.entity)
        return jsonReply({ ...body, is_new: isNew } satisfies AddedAliasReply, { status: 201 })
      },
    }),
    defineRoute({
      method: 'DELETE',
      path,
      summary: 'A name no longer stands for that.',
      auth: 'token',
      scope: 'owner',
      query: aliasQuerySchema,
      reply: { status: 200, schema: removedReplySchema },
      async handle({ context, query }) {
        const { alias, entity } = query
        if (!(await aliases.remove(callerOf(context).userId, alias, entity))) {
          throw new FamiliarError('not_found', `${alias} is not known as a name of ${entity}`)
        }
        return jsonReply({ removed: true } satisfies RemovedReply)
      },
    }),
  ]
}
