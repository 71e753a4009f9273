import { formatCount, oneLine } from '../../base/format.ts'
import type { CapabilitySummaryReply } from '../../protocol/capability-api.ts'
import type { CommandHandler } from '../command.ts'
import type { Output } from '../output.ts'
import { withCaps } from './with-caps.ts'

/** `familiar caps list`: every capability, or those of one state, or those that fit some words. */
export const listCapabilities: CommandHandler<{ state?: string; query?: string }> = async (context, input) => {
  const { output } = context
  const capabilities = await withCaps(context, (caps) => caps.list({ state: input.state, query: input.query }))
  if (input.json) output.printJson({ capabilities })
  else if (capabilities.length === 0) output.print(nothing(input))
  else {
    output.printTable(
      capabilities.map((capability) => [
        capability.name,
        stateOf(output, capability),
        capability.version === null ? '' : `v${capability.version}`,
        callsOf(capability),
        oneLine(capability.problem ?? capability.description, 200),
      ]),
      { header: ['Capability', 'State', 'Version', 'Calls', 'What it does'] },
    )
  }
  return undefined
}

export function stateOf(output: Output, { state }: Pick<CapabilitySummaryReply, 'state'>): string {
  if (state === 'failed') return output.style('red', state)
  return state === 'active' ? state : output.style('yellow', state)
}

function callsOf({ calls, failures }: CapabilitySummaryReply): string {
  return failures === 0 ? formatCount(calls) : `${formatCount(calls)} (${formatCount(failures)} failed)`
}

function nothing({ state, query }: { state?: string; query?: string }): string {
  if (query !== undefined) return 'No capability fits that.'
  if (state !== undefined) return `No capability is ${state}.`
  return 'There are no capabilities yet. Ask for one in a chat, or write one: familiar caps new NAME'
}
