import { FamiliarError } from '../../../../protocol/error.ts'
import {
  type AddedMemoryReply,
  addedMemoryReplySchema,
  type MemoriesReply,
  memoriesQuerySchema,
  memoriesReplySchema,
  memoryRequestSchema,
} from '../../../../protocol/memory-api.ts'
import { callerOf } from '../../guards/token-guard.ts'
import type { HttpDependencies } from '../../http-dependencies.ts'
import { jsonReply } from '../../json-reply.ts'
import { defineRoute, type Route } from '../../route.ts'
import { filterOf, kindsOf } from './memory-filter-query.ts'
import { memoryReplies, oneMemoryReply } from './memory-reply.ts'

/** All memories, and a new one in the user's own words. */
export function createNoteRoutes(dependencies: HttpDependencies): Route[] {
  const { memories } = dependencies.memory
  return [
    defineRoute({
      method: 'GET',
      path: '/api/v1/memories',
      summary: 'What is remembered, newest first, page by page; what is superseded is left out.',
      auth: 'token',
      scope: 'read',
      query: memoriesQuerySchema,
      reply: { status: 200, schema: memoriesReplySchema },
      async handle({ context, query }) {
        const { userId } = callerOf(context)
        const { limit, cursor } = query
        const page = await memories.list(userId, {
          // One more than is shown tells whether there is another page.
          limit: limit + 1,
          kinds: kindsOf(query),
          filter: filterOf(query, dependencies.timeZone),
          before: cursor === undefined ? undefined : parseCursor(cursor),
        })
        const shown = page.slice(0, limit)
        const last = shown.at(-1)
        const reply: MemoriesReply = {
          memories: await memoryReplies(dependencies, userId, shown),
          next_cursor: last && page.length > limit ? `${last.createdAt}:${last.id}` : null,
        }
        return jsonReply(reply)
      },
    }),
    defineRoute({
      method: 'POST',
      path: '/api/v1/memories',
      summary: 'Remember a note, as something that the user wrote. The same note twice is one.',
      auth: 'token',
      scope: 'owner',
      body: memoryRequestSchema,
      reply: { status: 201, schema: addedMemoryReplySchema },
      async handle({ context, body }) {
        const { userId } = callerOf(context)
        const { memory, isNew } = await memories.add({ ...body, userId, kind: 'note', source: 'user' })
        const reply: AddedMemoryReply = { memory: await oneMemoryReply(dependencies, memory), is_new: isNew }
        return jsonReply(reply, { status: 201 })
      },
    }),
  ]
}

function parseCursor(cursor: string): { createdAt: number; id: string } {
  const [, createdAt, id] = /^(-?\d{1,16}):(.{1,200})$/.exec(cursor) ?? []
  if (createdAt === undefined || id === undefined) {
    throw new FamiliarError('bad_request', 'cursor: must be the next_cursor of a page before')
  }
  return { createdAt: Number(createdAt), id }
}
