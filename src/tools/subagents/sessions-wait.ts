import { z } from 'zod'
import type { Clock } from '../../base/clock.ts'
import { defineTool, failed } from '../define-tool.ts'
import type { Tool } from '../tool.ts'
import { chooseSpawns } from './choose-spawns.ts'
import { outcomeOfSpawns } from './spawn-outcome.ts'
import type { Subagents } from './subagents.ts'

/** Waits for what was spawned without waiting; what has not ended in time goes on. */
export function createSessionsWait({ subagents, clock }: { subagents: Subagents; clock: Clock }): Tool {
  return defineTool({
    name: 'sessions_wait',
    description: 'Wait until sub-agents that you spawned have ended, and get their answers.',
    input: z.object({
      ids: z
        .array(z.string())
        .max(50)
        .optional()
        .describe('Absent: those of this turn, and all that are still at work.'),
      timeout_seconds: z.number().positive().max(3_600).default(600),
    }),
    effect: 'idempotent',
    async run({ ids, timeout_seconds: seconds }, context) {
      const known = await subagents.list(context.userId, context.sessionId)
      // Those of this turn also where they have ended: made again after a restart, the call brings the same.
      const chosen = chooseSpawns(
        known,
        ids,
        ({ result, parentTurnId }) => result === null || parentTurnId === context.turnId,
      )
      if (chosen.length === 0) return failed('None of your sub-agents is at work. sessions_collect brings the answers.')
      const late = new AbortController()
      const cancel = clock.after(seconds * 1_000, () => late.abort())
      try {
        const wait = { signal: AbortSignal.any([late.signal, context.signal]), progress: context.progress }
        const ended = chosen.map((spawn) =>
          subagents.ended(spawn, wait).catch((cause: unknown) => {
            if (!late.signal.aborted || context.signal.aborted) throw cause
            return spawn
          }),
        )
        return outcomeOfSpawns(await Promise.all(ended))
      } finally {
        cancel()
      }
    },
  })
}
