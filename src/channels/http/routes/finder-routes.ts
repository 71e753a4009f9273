import type { Finders } from '../../../assets/finder/create-finders.ts'
import { type FinderReply, finderQuerySchema, finderReplySchema } from '../../../protocol/finder-api.ts'
import { callerOf } from '../guards/token-guard.ts'
import { jsonReply } from '../json-reply.ts'
import { defineRoute, type Route } from '../route.ts'

/** What `@` and `@@` offer. Names of files tell much: they are for the owner. */
export function createFinderRoutes(finders: Pick<Finders, 'find'>): Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/api/v1/finder',
      summary: 'Files or blocks by a few letters of their names, the best first.',
      auth: 'token',
      scope: 'owner',
      query: finderQuerySchema,
      reply: { status: 200, schema: finderReplySchema },
      async handle({ context, query }) {
        const { userId } = callerOf(context)
        const { found, total, isIndexing, isCut } = await finders.find({
          userId,
          ...query,
          signal: context.req.raw.signal,
        })
        return jsonReply({ found, total, is_indexing: isIndexing, is_cut: isCut } satisfies FinderReply)
      },
    }),
  ]
}
