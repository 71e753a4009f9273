import { z } from 'zod'
import { defineTool, succeeded } from '../define-tool.ts'
import type { Tool, ToolContext } from '../tool.ts'

/** Uptime, model, cost of today, tokens and session in words, for the user of the context alone. */
export type DescribeStatus = (context: ToolContext) => Promise<string>

export function createSessionStatus({ describeStatus }: { describeStatus: DescribeStatus }): Tool {
  return defineTool({
    name: 'session_status',
    description: 'Uptime, model, cost, tokens, session.',
    input: z.object({}),
    effect: 'idempotent',
    core: true,
    run: async (_input, context) => succeeded(await describeStatus(context)),
  })
}
