import { FamiliarError } from '../../protocol/error.ts'
import type { ToolContext } from '../tool.ts'
import type { Capability } from './capability.ts'
import type { CapabilityRepairs } from './repair-capability.ts'

export type RepairMode = 'off' | 'ask' | 'auto'

/** What is said after a call that failed, and which tools are offered then. */
export type AfterFailure = (
  capability: Capability,
  context: ToolContext,
) => Promise<{ note: string; foundTools: string[] } | undefined>

/** With `ask` the model learns that it can be mended; with `auto` that is under way when the model hears of the failure. */
export function createAfterFailure(dependencies: {
  repairs: CapabilityRepairs
  mode(): RepairMode
  /** Why nothing can be built now. */
  whyNot(): Promise<string | undefined>
}): AfterFailure {
  const { repairs, mode, whyNot } = dependencies
  const offer = { note: 'repair_capability has it mended.', foundTools: ['repair_capability'] }

  async function begin({ name }: Capability, { userId, sessionId, callId, seen }: ToolContext) {
    if (await repairs.wasTriedInVain(userId, name)) return offer
    try {
      const build = await repairs.request({ userId, name, sessionId, callId, seen })
      const note = `A repair has begun (build ${build.id}). Until it has passed, ${name} stays as it is.`
      return { note, foundTools: [] }
    } catch (cause) {
      if (!(cause instanceof FamiliarError)) throw cause
      return { note: `It was not repaired: ${cause.message}`, foundTools: [] }
    }
  }

  return async (capability, context) => {
    if (mode() === 'off' || (await whyNot()) !== undefined) return undefined
    return mode() === 'auto' ? await begin(capability, context) : offer
  }
}
