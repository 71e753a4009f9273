import { z } from 'zod'
import { defineTool, failed } from '../define-tool.ts'
import type { Tool } from '../tool.ts'
import { chooseSpawns } from './choose-spawns.ts'
import { outcomeOfSpawns } from './spawn-outcome.ts'
import type { Subagents } from './subagents.ts'

/** What the sub-agents of this conversation have come to so far. */
export function createSessionsCollect({ subagents }: { subagents: Subagents }): Tool {
  return defineTool({
    name: 'sessions_collect',
    description: 'Get the answers of sub-agents that you spawned, without waiting for those that are still at work.',
    input: z.object({ ids: z.array(z.string()).max(50).optional().describe('Absent: all of this conversation.') }),
    effect: 'idempotent',
    async run({ ids }, { userId, sessionId }) {
      const chosen = chooseSpawns(await subagents.list(userId, sessionId), ids, () => true)
      if (chosen.length === 0) return failed('You have spawned no sub-agent in this conversation.')
      return { ...outcomeOfSpawns(chosen), isError: false }
    },
  })
}
