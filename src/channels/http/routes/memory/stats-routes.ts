import type { TroubleReport } from '../../../../memory/learning/trouble.ts'
import {
  type MemoryStatsReply,
  memoryStatsReplySchema,
  type TroubleReply,
} from '../../../../protocol/memory-upkeep-api.ts'
import { callerOf } from '../../guards/token-guard.ts'
import type { HttpDependencies } from '../../http-dependencies.ts'
import { isoTime } from '../../iso-time.ts'
import { jsonReply } from '../../json-reply.ts'
import { defineRoute, type Route } from '../../route.ts'

export function createStatsRoutes(dependencies: HttpDependencies): Route[] {
  const { memory, learning, countMemories, databaseBytes } = dependencies
  return [
    defineRoute({
      method: 'GET',
      path: '/api/v1/memories/stats',
      summary: 'How much is remembered, how far the embedding is, and what went wrong in the background.',
      auth: 'token',
      scope: 'read',
      reply: { status: 200, schema: memoryStatsReplySchema },
      async handle({ context }) {
        const { userId } = callerOf(context)
        const counts = await countMemories(userId)
        const roots = await memory.files.roots(userId)
        const embedding = await memory.embeddingStatus(userId)
        const { waiting, extraction, consolidation } = await learning.status(userId)
        const reply: MemoryStatsReply = {
          memories: counts.memories,
          superseded: counts.superseded,
          aliases: counts.aliases,
          edges: counts.edges,
          changes: counts.changes,
          files: { roots: roots.length, files: counts.files.count, bytes: counts.files.bytes },
          embedding: embedding
            ? {
                model: embedding.model,
                embedded: embedding.embedded,
                total: embedding.total,
                is_running: embedding.isRunning,
                problem: embedding.problem,
              }
            : null,
          learning: { waiting, extraction: troubleReply(extraction), consolidation: troubleReply(consolidation) },
          database_bytes: await databaseBytes(),
        }
        return jsonReply(reply)
      },
    }),
  ]
}

function troubleReply(trouble: TroubleReport | undefined): TroubleReply | null {
  if (!trouble) return null
  const { failures, passedOver, last } = trouble
  return {
    failures,
    passed_over: passedOver,
    last: {
      at: isoTime(last.at),
      session_id: last.sessionId,
      reason: last.reason,
      passed_over: last.passedOver,
    },
  }
}
