import { z } from 'zod'
import { defineTool, succeeded } from '../define-tool.ts'
import type { Tool } from '../tool.ts'
import { outcomeOfSpawns } from './spawn-outcome.ts'
import type { Subagents } from './subagents.ts'

const mostTaskCharacters = 20_000

/** Gives a task away. Made again after a restart, the call finds what it has spawned. */
export function createSessionsSpawn({ subagents }: { subagents: Subagents }): Tool {
  return defineTool({
    name: 'sessions_spawn',
    description:
      'Give a task to a sub-agent that works on it alone, with a context of its own, and get its answer. It knows nothing of this conversation: say everything it needs. Several calls at once work side by side.',
    input: z.object({
      task: z.string().trim().min(1).max(mostTaskCharacters).describe('What to do, and what the answer must hold.'),
      tools: z
        .array(z.string())
        .max(50)
        .optional()
        .describe('The only tools that it has, by name. Absent: those that you have.'),
      model: z.string().optional().describe('provider/name. Absent: the one that is set up for sub-agents.'),
      wait: z
        .boolean()
        .default(true)
        .describe('false: goes on at once; sessions_wait and sessions_collect bring the answer.'),
    }),
    effect: 'idempotent',
    async run({ task, tools = null, model = null, wait }, context) {
      const { userId, sessionId, turnId, callId, seen } = context
      const request = { task, tools, model, seen }
      const spawn = await subagents.spawn({ userId, sessionId, turnId, callId, request })
      if (wait) return outcomeOfSpawns([await subagents.ended(spawn, context)])
      const told = `Sub-agent ${spawn.id} works on it. sessions_wait waits for its answer.`
      return { ...succeeded(told), foundTools: ['sessions_wait', 'sessions_collect'] }
    },
  })
}
