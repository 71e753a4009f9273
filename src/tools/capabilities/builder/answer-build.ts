import { z } from 'zod'
import { saidByUser } from '../../builtin/users-words.ts'
import { defineTool, succeeded } from '../../define-tool.ts'
import type { Tool } from '../../tool.ts'
import type { Builds } from '../builds/builds.ts'

/** Hands on what the user says to the question of a Builder, in whatever conversation they say it (CAP-7). */
export function createAnswerBuild({ builds }: { builds: Pick<Builds, 'answer'> }): Tool {
  return defineTool({
    name: 'answer_build',
    description: "Hand the user's answer on to the Builder that asked. Never a secret.",
    input: z.object({ question_id: z.string().min(1).max(300), answer: z.string().trim().min(1).max(10_000) }),
    effect: 'idempotent',
    // The Builder can reach out, and knows nothing of this conversation but what it is told.
    reach: ({ question_id }) => ({ kind: 'acts', destination: `build:${question_id.split('.')[0]}` }),
    async run({ question_id, answer }, { userId, userText, seen }) {
      const isTheirs = saidByUser(answer, userText)
      await builds.answer(userId, question_id, answer, isTheirs ? { untrusted: false, private: false } : seen)
      return succeeded('The Builder has the answer.')
    },
  })
}
