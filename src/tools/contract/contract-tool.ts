import type { Json } from '../../protocol/json.ts'
import type { Tool, ToolContext, ToolOutcome, ToolReach } from '../tool.ts'
import type { ToolManifest } from './manifest/manifest.ts'
import { parameterSchema } from './run/parameter-schema.ts'
import { wrapOutput } from './run/wrap-output.ts'
import type { ToolRun } from './tool-catalog.ts'

/** A tool of a folder as the model has it. */
export function createContractTool(
  manifest: ToolManifest,
  options: { hosts: readonly string[]; call(input: Json, context: ToolContext): Promise<ToolRun> },
): Tool {
  const reach = reachOf(manifest, options.hosts)
  return {
    definition: {
      name: manifest.name,
      description: manifest.description,
      inputSchema: parameterSchema(manifest.parameters),
    },
    // Without a way out nothing can have happened that a second run would do twice.
    effect: reach.kind === 'reads' ? 'idempotent' : 'at-most-once',
    serial: false,
    core: false,
    aliases: [],
    ...(manifest.documentation !== null && { documentation: manifest.documentation }),
    reach: () => reach,
    run: async (input, context) => toOutcome(manifest, await options.call(input, context)),
  }
}

/** With nowhere to go it can only compute. `host` is this machine's whole network: never unasked. */
function reachOf({ name, network }: ToolManifest, hosts: readonly string[]): ToolReach {
  if (network.mode === 'host') return { kind: 'asks', destination: `tool:${name} on this machine's network` }
  if (network.mode === 'none' || hosts.length === 0) return { kind: 'reads', destination: null }
  const [host] = hosts
  const isOneHost = hosts.length === 1 && host !== undefined && !host.includes('*')
  return { kind: 'acts', destination: isOneHost ? `https://${host}` : `tool:${name}` }
}

function toOutcome(manifest: ToolManifest, run: ToolRun): ToolOutcome {
  const { name, output } = manifest
  return {
    text: [wrapOutput(name, textFor(manifest, run)), ...notesFor(manifest, run)].join('\n'),
    isError: !run.ok,
    label: output.label,
    ran: { driver: run.driver, budgetRemaining: run.budgetRemaining },
    ...(run.outcome === 'timed_out' && { timedOut: true }),
    ...(run.outcome === 'service_failed' && { serviceFailed: true }),
    ...(run.card && { card: run.card }),
    ...(output.ephemeral && { isEphemeral: true }),
  }
}

/** Where the text is hidden behind a card, the model knows of the card and not what stands in it. */
function textFor({ output }: ToolManifest, run: ToolRun): string {
  if (!run.ok) return `Error: ${run.error ?? 'it did not say why'}`
  if (!output.synthesize && run.card) {
    return `The user is shown the result as a card, "${run.card.title}". Do not repeat it.`
  }
  return run.text ?? run.card?.text ?? 'Done.'
}

/** In Familiar's own words, so outside of the markers. */
function notesFor({ costBudget }: ToolManifest, { budgetRemaining, notes }: ToolRun): string[] {
  const budget = costBudget === null ? budgetRemaining : `${budgetRemaining} of ${costBudget}`
  return [...notes, ...(budgetRemaining === null ? [] : [`Budget left: ${budget}.`])]
}
