import type { DeepRecallAnswer, DeepRecallProgress } from '../../../../memory/learning/deep-recall.ts'
import {
  type DeepRecallReply,
  deepRecallReplySchema,
  deepRecallRequestSchema,
  type MemorySearchReply,
  memorySearchQuerySchema,
  memorySearchReplySchema,
} from '../../../../protocol/memory-api.ts'
import { callerOf } from '../../guards/token-guard.ts'
import type { HttpDependencies } from '../../http-dependencies.ts'
import { jsonReply } from '../../json-reply.ts'
import { defineRoute, type Route } from '../../route.ts'
import type { StreamReply } from '../../stream-reply.ts'
import { filterOf, kindsOf } from './memory-filter-query.ts'
import { memoryReplies } from './memory-reply.ts'
import { progressReply } from './progress-reply.ts'

/** Asking memory: at once, or in several ways with the help of a model. */
export function createSearchRoutes(dependencies: HttpDependencies, streamReply: StreamReply): Route[] {
  const { recall, deepRecall } = dependencies.memory

  async function deepReply(
    userId: string,
    { memories, searches, synthesis, note }: DeepRecallAnswer,
  ): Promise<DeepRecallReply> {
    const shown = await memoryReplies(
      dependencies,
      userId,
      memories.map(({ memory }) => memory),
    )
    return {
      summary: synthesis.text,
      style: synthesis.style,
      searches: [...searches],
      memories: memories.flatMap(({ relevance, relation = null }, index) => {
        const memory = shown[index]
        return memory ? [{ memory, relevance, relation }] : []
      }),
      notes: [note, synthesis.note].filter((text) => text !== undefined),
    }
  }

  return [
    defineRoute({
      method: 'GET',
      path: '/api/v1/memories/search',
      summary: 'The memories that speak to a question, best first; with explain=true each says why.',
      auth: 'token',
      scope: 'read',
      query: memorySearchQuerySchema,
      reply: { status: 200, schema: memorySearchReplySchema },
      async handle({ context, query }) {
        const { userId } = callerOf(context)
        const { q, limit } = query
        const signal = context.req.raw.signal
        const found = await recall.recall({
          userId,
          text: q,
          limit,
          kinds: kindsOf(query),
          filter: filterOf(query, dependencies.timeZone),
          signal,
        })
        const shown = await memoryReplies(
          dependencies,
          userId,
          found.map(({ memory }) => memory),
        )
        const reply: MemorySearchReply = {
          results: found.flatMap(({ score, explain }, index) => {
            const memory = shown[index]
            if (!memory) return []
            const why = { signals: [...explain.signals], strength: explain.strength }
            return [{ rank: index + 1, score, memory, ...(query.explain === 'true' && { why }) }]
          }),
        }
        return jsonReply(reply)
      },
    }),
    defineRoute({
      method: 'POST',
      path: '/api/v1/memories/deep',
      summary:
        'Ask in several ways, follow what belongs together and sum it up; with "Accept: text/event-stream" it tells how far it is.',
      auth: 'token',
      // A model is asked, which costs; nothing changes.
      scope: 'chat',
      body: deepRecallRequestSchema,
      reply: { status: 200, schema: deepRecallReplySchema, events: true },
      async handle({ context, body }) {
        const { userId } = callerOf(context)
        return progressReply<DeepRecallProgress, DeepRecallReply>(context, streamReply, async (job) =>
          deepReply(userId, await deepRecall({ ...body, ...job, userId, sessionId: null })),
        )
      },
    }),
  ]
}
