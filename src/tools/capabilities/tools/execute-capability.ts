import { z } from 'zod'
import type { Json } from '../../../protocol/json.ts'
import { defineTool, failed } from '../../define-tool.ts'
import type { Tool } from '../../tool.ts'
import type { AfterFailure } from '../after-failure.ts'
import { destinationOf, toOutcome } from '../capability-tool.ts'
import type { CapabilityCatalog } from '../catalog/catalog.ts'
import type { CapabilityRuns } from '../run-capability.ts'

/** For models that call by a name in the arguments; the tool of the capability itself knows better where it goes. */
export function createExecuteCapability(needs: {
  catalog: CapabilityCatalog
  runs: CapabilityRuns
  afterFailure: AfterFailure
}): Tool {
  const { catalog, runs, afterFailure } = needs
  return defineTool({
    name: 'execute_capability',
    description: 'Run a tool that you have built. The same as calling cap_<name>.',
    input: z.object({ name: z.string(), input: z.looseObject({}) }),
    effect: 'at-most-once',
    // Whether it reaches out depends on whose it is, which the arguments do not tell.
    reach: ({ name }) => ({ kind: 'acts', destination: destinationOf(plainName(name)) }),
    async run({ name, input }, context) {
      const { userId, signal } = context
      const capability = catalog.find(userId, plainName(name))
      if (!capability) return failed(`There is no capability named ${name}.`)
      const call = { userId, name: capability.name, input: input as Json, signal }
      const run = await runs.run({ ...call, version: capability.version ?? undefined, caller: 'turn' })
      return await toOutcome(capability, { run, context, afterFailure })
    },
  })
}

function plainName(name: string): string {
  return name.replace(/^cap_/, '')
}
