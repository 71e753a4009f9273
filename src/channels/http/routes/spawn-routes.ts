import { type SpawnReply, type SpawnsReply, spawnsReplySchema } from '../../../protocol/spawn-api.ts'
import type { Spawn } from '../../../tools/subagents/subagents.ts'
import type { HttpDependencies } from '../http-dependencies.ts'
import { isoTime } from '../iso-time.ts'
import { jsonReply } from '../json-reply.ts'
import { defineRoute, type Route } from '../route.ts'
import { sessionOf } from '../session-reply.ts'

/** The work that conversations have given away. */
export function createSpawnRoutes(dependencies: HttpDependencies): Route[] {
  const { conversations, monitor } = dependencies

  function spawnReply({ id, sessionId, request, state, result, createdAt, endedAt }: Spawn): SpawnReply {
    const activity = monitor().turns.find((turn) => turn.sessionId === sessionId)
    return {
      id,
      session_id: sessionId,
      task: request.task,
      tools: request.tools,
      model: request.model,
      state,
      doing: activity ? { round: activity.round, tools: activity.tools } : null,
      result: result && { outcome: result.outcome, text: result.text },
      created_at: isoTime(createdAt),
      ended_at: endedAt === null ? null : isoTime(endedAt),
    }
  }

  return [
    defineRoute({
      method: 'GET',
      path: '/api/v1/sessions/:id/spawns',
      summary: 'The sub-agents of a session, oldest first: what they do, and what they have come to.',
      auth: 'token',
      scope: 'read',
      reply: { status: 200, schema: spawnsReplySchema },
      async handle({ context }) {
        const { id, userId } = await sessionOf(dependencies, context)
        const spawns = await conversations.spawns(userId, id)
        return jsonReply({ spawns: spawns.map(spawnReply) } satisfies SpawnsReply)
      },
    }),
  ]
}
