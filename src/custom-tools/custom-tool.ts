import type { Clock } from '../base/clock.ts'
import { isRecord } from '../base/json.ts'
import { reasonOf } from '../base/text.ts'
import { FamiliarError } from '../protocol/errors.ts'
import type { Json, Label, ToolDefinition } from '../protocol/messages.ts'
import type { Reach } from '../security/permissions.ts'
import { type Redactor, redactJson } from '../security/redactor.ts'
import type { ToolCallRow } from '../storage/tables.ts'
import type { ToolAudit, ToolShelf } from '../tools/registry.ts'
import type { Tool, ToolContext, ToolOutcome } from '../tools/tool.ts'
import { type Capability, type CapabilityCatalog, serves, toolNameOf } from './built-catalog.ts'
import type { AfterFailure } from './capabilities.ts'
import {
  type CapabilityExecutor,
  type CapabilityRun,
  type Runnable,
  type RunReport,
  refusedRun,
  type ToolRun,
  toolsAreOff,
} from './execute.ts'
import type { ToolManifest } from './manifest.ts'
import { wrapOutput } from './output.ts'
import { parameterSchema } from './parameters.ts'

/** A custom tool as the model has it, whether it comes from a folder or was built. */
function createCustomTool(tool: {
  definition: ToolDefinition
  reach: Reach
  keepsData?: boolean
  documentation: string
  run: Tool['run']
}): Tool {
  const { definition, reach, keepsData = false, documentation, run } = tool
  return {
    definition,
    // Without a network and without stored data, a second run does nothing twice.
    effect: reach.kind === 'read' && !keepsData ? 'idempotent' : 'at-most-once',
    serial: false,
    core: false,
    aliases: [],
    ...(documentation && { documentation }),
    reach: () => reach,
    run,
  }
}

/**
 * A tool without a host can only compute. The hosts of a tool that can be called were approved when it was built,
 * imported or enabled, so they are not asked about at every call. `*` cannot be approved as a host.
 */
function reachOf(toolName: string, hosts: readonly string[]): Reach {
  if (hosts.length === 0) return { kind: 'read', destination: null }
  const [host] = hosts
  const isOneHost = hosts.length === 1 && host !== undefined && !host.includes('*')
  const destination = isOneHost ? `https://${host}` : `tool:${toolName}`
  return { kind: 'reach', destination, ...(!hosts.includes('*') && { isApproved: true }) }
}

type AnyRun = RunReport & Partial<Pick<ToolRun, 'budgetRemaining'>>

/** A run as the model reads it. `text` is for a successful run; notes are Familiar's own text, outside of the markers. */
function toOutcome(
  toolName: string,
  run: AnyRun,
  { text, label, notes }: { text: string; label: Label; notes: readonly string[] },
): ToolOutcome {
  const words = run.ok ? text : `Error: ${run.error ?? 'it did not say why'}`
  return {
    text: [wrapOutput(toolName, words), ...notes].join('\n'),
    label,
    ...endOf(run),
    ...(run.card && { card: run.card }),
  }
}

/** How a run ended, for the loop and the audit trail. */
export function endOf(run: AnyRun): Pick<ToolOutcome, 'isError' | 'ran' | 'timedOut' | 'serviceFailed'> {
  return {
    isError: !run.ok,
    ran: { driver: run.driver, budgetRemaining: run.budgetRemaining ?? null },
    ...(run.outcome === 'timed_out' && { timedOut: true }),
    ...(run.outcome === 'service_failed' && { serviceFailed: true }),
  }
}

export function createFolderTool(
  manifest: ToolManifest,
  options: { allowedHosts: readonly string[]; call(input: Json, context: ToolContext): Promise<ToolRun> },
): Tool {
  const { name, description, network, output, costBudget } = manifest
  const label = labelOf(manifest)
  const hosts = network.mode === 'none' ? [] : [...new Set([...network.hosts, ...options.allowedHosts])]
  return createCustomTool({
    definition: { name, description, inputSchema: parameterSchema(manifest.parameters) },
    // `host` is this machine's whole network: never without asking.
    reach:
      network.mode === 'host'
        ? { kind: 'host', destination: `tool:${name} on this machine's network` }
        : reachOf(name, hosts),
    documentation: [manifest.documentation ?? '', ...manifest.tips].join('\n').trim(),
    async run(input, context) {
      const run = await options.call(input, context)
      const { card, budgetRemaining } = run
      // If the text is hidden behind a card, the model knows of the card and not its content.
      const text =
        card && !output.synthesize
          ? `The user is shown the result as a card, "${card.title}". Do not repeat it.`
          : (run.text ?? card?.text ?? 'Done.')
      const left = costBudget === null ? budgetRemaining : `${budgetRemaining} of ${costBudget}`
      const notes = [...run.notes, ...(budgetRemaining === null ? [] : [`Budget left: ${left}.`])]
      return {
        ...toOutcome(name, run, { text, label, notes }),
        ...(output.ephemeral && { isEphemeral: true }),
      }
    },
  })
}

/** Without a network, and started by no one outside, it can only repeat its input, which the session has seen already. */
function labelOf({ network, trigger, output, written }: ToolManifest): Label {
  const says = isRecord(written.output) ? written.output.label : undefined
  const isAlone = network.mode === 'none' && trigger.type !== 'webhook' && says !== 'untrusted'
  return isAlone ? 'internal' : output.label
}

export async function runForModel(
  capability: Capability,
  call: { input: Json; context: ToolContext; runs: CapabilityRuns; afterFailure: AfterFailure },
): Promise<ToolOutcome> {
  const { input, context, runs, afterFailure } = call
  const { userId, signal } = context
  const { name, permissions } = capability
  const version = capability.version ?? undefined
  const run = await runs.run({ userId, name, version, input, caller: 'turn', signal })
  // A change of its code repairs neither a failed service nor a refusal.
  const isItsFault = run.outcome === 'failed' || run.outcome === 'timed_out'
  const after = isItsFault ? await afterFailure(capability, context) : undefined
  const notes = after ? [after.note] : []
  return {
    ...toOutcome(toolNameOf(name), run, { text: run.text || 'Done.', label: outputLabel(capability), notes }),
    ...(after && { foundTools: after.foundTools }),
    // Its stored data may come from other conversations.
    ...(permissions.storage && { isPrivate: true }),
  }
}

/** Results from a network, or from imported code, are untrusted. */
export function outputLabel({ permissions, origin }: Capability): 'untrusted' | 'internal' {
  return permissions.hosts.length > 0 || origin === 'imported' ? 'untrusted' : 'internal'
}

const prefix = toolNameOf('')

/** The built tools that can be called. */
export function createCapabilityShelf(dependencies: {
  catalog: CapabilityCatalog
  runs: CapabilityRuns
  afterFailure: AfterFailure
}): ToolShelf {
  const { catalog, runs, afterFailure } = dependencies

  /** The version that runs is the one whose reach was checked. */
  function toTool(capability: Capability): Tool {
    const { description, inputSchema, permissions, tags } = capability
    const name = toolNameOf(capability.name)
    return createCustomTool({
      definition: { name, description, inputSchema },
      reach: reachOf(name, permissions.hosts),
      keepsData: permissions.storage,
      documentation: tags.join(' '),
      run: (input, context) => runForModel(capability, { input, context, runs, afterFailure }),
    })
  }

  return {
    find(userId, name) {
      if (!name.startsWith(prefix)) return undefined
      const capability = catalog.find(userId, name.slice(prefix.length))
      return capability && serves(capability) ? toTool(capability) : undefined
    },
    list: (userId) => catalog.list(userId).filter(serves).map(toTool),
  }
}

/** Runs a tool and writes the call into the audit trail, also one that throws. A turn writes its own calls there. */
export async function runAudited<Run extends RunReport>(
  call: { userId: string; tool: string; caller: ToolCallRow['caller'] },
  { audit, clock }: { audit: Pick<ToolAudit, 'record'>; clock: Clock },
  run: () => Promise<Run>,
): Promise<Run> {
  if (call.caller === 'turn') return await run()
  const recorded = { ...call, userText: '' }
  const startedAt = clock.now()
  const ran = await run().catch(async (cause: unknown) => {
    const durationMs = clock.now() - startedAt
    await audit.record({ ...recorded, outcome: 'failed', durationMs, error: reasonOf(cause) })
    throw cause
  })
  await audit.record({ ...ran, ...recorded })
  return ran
}

/** A version never changes: what was read and found whole once need not be read again. */
const maxLoaded = 500

export type CapabilityRuns = ReturnType<typeof createCapabilityRuns>

interface Call {
  userId: string
  name: string
  version?: number | undefined
  input: Json
  caller: ToolCallRow['caller']
  signal: AbortSignal
}

export function createCapabilityRuns(dependencies: {
  catalog: CapabilityCatalog
  executor: Pick<CapabilityExecutor, 'run'>
  audit: Pick<ToolAudit, 'record'>
  redactor: Pick<Redactor, 'redact'>
  clock: Clock
  isEnabled(): boolean
}) {
  const { catalog, executor, redactor, isEnabled } = dependencies
  const loaded = new Map<string, Runnable>()

  async function load(capability: Capability, version: number): Promise<Runnable | { problem: string }> {
    const key = `${capability.id} ${version}`
    const known = loaded.get(key)
    if (known) return known
    const found = await catalog.version(capability.userId, capability.name, version)
    if (!found) return { problem: `${capability.name} has no version ${version}.` }
    const reading = await catalog.read(found)
    if (!reading.ok) return { problem: reading.problem }
    const { manifest, directory } = found
    const runnable = { name: capability.name, manifest, directory, requirements: reading.lock.requirements }
    for (const oldest of loaded.keys()) if (loaded.size >= maxLoaded) loaded.delete(oldest)
    loaded.set(key, runnable)
    return runnable
  }

  async function run({ userId, input, signal }: Call, capability: Capability, version: number): Promise<CapabilityRun> {
    const runnable = await load(capability, version)
    if ('problem' in runnable) return refusedRun(runnable.problem)
    const storage = { kind: 'kept' as const, capabilityId: capability.id }
    const ran = await executor.run({ userId, runnable, input, storage, signal })
    // How an older version does when it is tried says nothing of the one that serves.
    if (version === capability.version) await catalog.recordRun(capability.id, redactJson(redactor, input), ran)
    return ran
  }

  return {
    /**
     * `not_found` if there is none of that name. Every other obstacle and failure is in the run; throws only if the signal
     * aborts or the sandbox is at fault.
     */
    async run(call: Call): Promise<CapabilityRun> {
      if (!isEnabled()) return refusedRun(toolsAreOff)
      const { userId, name } = call
      const capability = catalog.find(userId, name)
      if (!capability) throw new FamiliarError('not_found', `There is no capability named ${name}.`)
      const why = whyNotCallable(capability)
      if (why !== undefined) return refusedRun(why)
      const version = call.version ?? capability.version ?? 0
      const audited = { userId, tool: toolNameOf(name), caller: call.caller }
      return await runAudited(audited, dependencies, () => run(call, capability, version))
    },
  }
}

/** The reason for the caller; undefined if it can be called. */
export function whyNotCallable({ name, state, version, problem }: Capability): string | undefined {
  const reason = problem === null ? '' : ` ${problem}`
  if (state === 'disabled') return `${name} is switched off.${reason} "familiar caps enable ${name}" switches it on.`
  if (state === 'failed') return `${name} could not be built.${reason}`
  return version === null ? `${name} is still being built.` : undefined
}
