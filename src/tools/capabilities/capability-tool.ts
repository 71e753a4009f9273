import { wrapOutput } from '../contract/run/wrap-output.ts'
import type { Tool, ToolContext, ToolOutcome, ToolReach } from '../tool.ts'
import type { AfterFailure } from './after-failure.ts'
import { type Capability, toolNameOf } from './capability.ts'
import type { CapabilityRun } from './execute/executor.ts'
import type { CapabilityRuns } from './run-capability.ts'

/** A capability as the model has it. What runs is the version whose reach was looked at, and none that came later. */
export function createCapabilityTool(
  capability: Capability,
  { runs, afterFailure }: { runs: CapabilityRuns; afterFailure: AfterFailure },
): Tool {
  const reach = reachOf(capability)
  const version = capability.version ?? undefined
  return {
    definition: {
      name: toolNameOf(capability.name),
      description: capability.description,
      inputSchema: capability.inputSchema,
    },
    // Without a way out nothing can have happened that a second run would do twice, but for what it keeps.
    effect: reach.kind === 'reads' && !capability.permissions.storage ? 'idempotent' : 'at-most-once',
    serial: false,
    core: false,
    aliases: [],
    documentation: capability.tags.join(' '),
    reach: () => reach,
    async run(input, context) {
      const { userId, signal } = context
      const run = await runs.run({ userId, name: capability.name, version, input, caller: 'turn', signal })
      return await toOutcome(capability, { run, context, afterFailure })
    },
  }
}

export async function toOutcome(
  capability: Capability,
  { run, context, afterFailure }: { run: CapabilityRun; context: ToolContext; afterFailure: AfterFailure },
): Promise<ToolOutcome> {
  const text = run.ok ? run.text || 'Done.' : `Error: ${run.error ?? 'it did not say why'}`
  // What lies outside, and what was refused, no change of its code would mend.
  const isItsFault = run.outcome === 'failed' || run.outcome === 'timed_out'
  const after = isItsFault ? await afterFailure(capability, context) : undefined
  return {
    text: [wrapOutput(toolNameOf(capability.name), text), ...(after ? [after.note] : [])].join('\n'),
    isError: !run.ok,
    label: labelOf(capability),
    ran: { driver: run.driver, budgetRemaining: null },
    ...(after && { foundTools: after.foundTools }),
    // What it has kept was said elsewhere.
    ...(capability.permissions.storage && { isPrivate: true }),
    ...(run.outcome === 'timed_out' && { timedOut: true }),
    ...(run.outcome === 'service_failed' && { serviceFailed: true }),
    ...(run.card && { card: run.card }),
  }
}

/** With nowhere to go it can only compute. */
function reachOf({ name, permissions: { hosts } }: Capability): ToolReach {
  if (hosts.length === 0) return { kind: 'reads', destination: null }
  const [host] = hosts
  const isOneHost = hosts.length === 1 && host !== undefined && !host.includes('*')
  return { kind: 'acts', destination: isOneHost ? `https://${host}` : destinationOf(name) }
}

export function destinationOf(name: string): string {
  return `tool:${toolNameOf(name)}`
}

/** What comes from a network, or out of the code of somebody else, are somebody else's words. */
export function labelOf({ permissions, origin }: Capability): 'untrusted' | 'internal' {
  return permissions.hosts.length > 0 || origin === 'imported' ? 'untrusted' : 'internal'
}
