import { z } from 'zod'
import { defineTool } from '../define-tool.ts'
import type { Tool } from '../tool.ts'

/** Ends the turn with a question; what the user says next is its answer. */
export function createAskUser(): Tool {
  return defineTool({
    name: 'ask_user',
    description: 'Ask the user and wait for the answer. Only when you cannot go on without it.',
    input: z.object({ question: z.string().trim().min(1) }),
    effect: 'idempotent',
    core: true,
    async run({ question }) {
      return { text: 'The user was asked.', isError: false, question }
    },
  })
}
