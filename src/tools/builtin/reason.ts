import { z } from 'zod'
import { defineTool, succeeded } from '../define-tool.ts'
import type { Tool } from '../tool.ts'

/** A place to think step by step, for models that have none of their own. It changes nothing; the thought stays in the log. */
export function createReason(): Tool {
  return defineTool({
    name: 'reason',
    description: 'Think a hard problem through, step by step, before you act. Nothing happens.',
    input: z.object({ thought: z.string().min(1) }),
    effect: 'idempotent',
    run: async () => succeeded('Go on.'),
  })
}
