import { z } from 'zod'
import { defineTool, failed, succeeded } from '../../define-tool.ts'
import type { Tool } from '../../tool.ts'
import type { CapabilityRepairs } from '../repair-capability.ts'

export function createRepairCapabilityTool(needs: {
  repairs: CapabilityRepairs
  whyNot(): Promise<string | undefined>
}): Tool {
  const { repairs, whyNot } = needs
  return defineTool({
    name: 'repair_capability',
    description: 'Have a tool that you have built mended in the background; it goes on to serve meanwhile.',
    input: z.object({ name: z.string(), problem: z.string().optional().describe('what is wrong, if no call failed') }),
    effect: 'idempotent',
    reach: ({ name }) => ({ kind: 'acts', destination: `build:${name}` }),
    async run({ name, problem }, { userId, sessionId, callId, seen }) {
      const missing = await whyNot()
      if (missing !== undefined) return failed(`Nothing can be repaired now: ${missing}`)
      const plainName = name.replace(/^cap_/, '')
      const build = await repairs.request({ userId, name: plainName, problem, sessionId, callId, seen })
      const state = JSON.stringify({ name: plainName, state: 'building', build_id: build.id })
      return succeeded(`${state}\nYou are told when it has passed.`)
    },
  })
}
