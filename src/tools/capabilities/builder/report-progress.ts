import { z } from 'zod'
import { defineTool, succeeded } from '../../define-tool.ts'
import type { Tool } from '../../tool.ts'
import { type BuilderNeeds, runningBuildOf } from './builder-needs.ts'

export function createReportProgress({ desk }: BuilderNeeds): Tool {
  return defineTool({
    name: 'report_progress',
    description: 'Tell the user how it is getting on, in a few words.',
    input: z.object({ message: z.string().trim().min(1) }),
    effect: 'idempotent',
    core: true,
    async run({ message }, context) {
      await desk.report(await runningBuildOf(desk, context), { callId: context.callId, message })
      return succeeded('Told.')
    },
  })
}
