import { z } from 'zod'
import { defineTool } from '../define-tool.ts'
import type { Tool } from '../tool.ts'

/** Says something at once, while the turn goes on. */
export function createMessage(): Tool {
  return defineTool({
    name: 'message',
    description: 'Tell the user something now, before you are done. Not for the answer itself.',
    input: z.object({ text: z.string().trim().min(1).max(4_000) }),
    effect: 'idempotent',
    run: async ({ text }) => ({ text: 'The user was told.', isError: false, says: text }),
  })
}
