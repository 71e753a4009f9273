import { z } from 'zod'
import { defineTool, succeeded } from '../../define-tool.ts'
import type { Tool } from '../../tool.ts'
import { type BuilderNeeds, runningBuildOf } from './builder-needs.ts'

/** The value goes from the user's form into the vault; neither the Builder nor any model sees it (CAP-7). */
export function createRequestSecret({ desk }: BuilderNeeds): Tool {
  return defineTool({
    name: 'request_secret',
    description: 'Ask the user to enter a secret that manifest.json declares. You are told whether it is set.',
    input: z.object({
      name: z.string().regex(/^[A-Za-z][A-Za-z0-9_]{0,63}$/),
      description: z.string().trim().min(1).max(500).describe('What it is and where the user gets it'),
    }),
    effect: 'idempotent',
    core: true,
    async run({ name, description }, context) {
      const { callId, seen, signal } = context
      const build = await runningBuildOf(desk, context)
      const isSet = await desk.requestSecret({ build, callId, secret: name, description, seen, signal })
      return succeeded(isSet ? `${name} is set.` : `${name} is not set: nobody entered it within a minute.`)
    },
  })
}
