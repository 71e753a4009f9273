import { z } from 'zod'
import { defineTool, succeeded } from '../../define-tool.ts'
import type { Tool } from '../../tool.ts'
import { type BuilderNeeds, runningBuildOf } from './builder-needs.ts'

/** Unlike the tool of that name in a conversation it waits for the answer, and the turn goes on. */
export function createAskTheUser({ desk }: BuilderNeeds): Tool {
  return defineTool({
    name: 'ask_user',
    description: 'Ask the user and wait up to a minute for the answer. Never for a secret.',
    input: z.object({ question: z.string().trim().min(1).max(2_000) }),
    effect: 'idempotent',
    core: true,
    async run({ question }, context) {
      const { callId, seen, signal } = context
      const build = await runningBuildOf(desk, context)
      const answer = await desk.ask({ build, callId, question, seen, signal })
      if (!answer) return succeeded('Nobody answered within a minute. Decide yourself and go on, or stop.')
      return {
        text: `The user answers: ${answer.text}`,
        isError: false,
        // What came through a conversation may hold whatever was in sight there.
        ...(answer.seen?.untrusted && { label: 'untrusted' }),
        ...(answer.seen?.private && { isPrivate: true }),
      }
    },
  })
}
