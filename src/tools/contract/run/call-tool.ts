import type { SandboxProxy } from '../../../egress/sandbox-proxy.ts'
import type { Card } from '../../../protocol/card.ts'
import type { Json } from '../../../protocol/json.ts'
import {
  type Sandbox,
  type SandboxLimits,
  type SandboxNetwork,
  type SandboxOutcome,
  SandboxUnavailable,
} from '../../../sandbox/sandbox.ts'
import type { ToolCallRow } from '../../../storage/tables.ts'
import type { JsonObject, ToolManifest } from '../manifest/manifest.ts'
import type { Telemetry } from '../telemetry.ts'
import type { ToolRun } from '../tool-catalog.ts'
import { coerceParameters } from './coerce-parameters.ts'
import type { ReadyCommand } from './prepare-command.ts'
import { type OutputRedactor, readLog, readOutput } from './read-output.ts'
import type { ToolResult } from './tool-result.ts'

export interface ToolCall {
  manifest: ToolManifest
  command: ReadyCommand
  /** That the owner allows beside what the manifest declares. */
  allowedHosts: readonly string[]
  params: Json
  settings: JsonObject
  telemetry: Telemetry
  caller: ToolCallRow['caller']
  state: Json | undefined
  onRefused(host: string): void
  signal: AbortSignal
}

const processes = 64
const outputBytes = 1024 ** 2
const scratchBytes = 64 * 1024 ** 2
// The system takes no longer word on a command line than 128 KiB.
const longestArgument = 128 * 1024 - 1
const mostLogCharacters = 4_000

/**
 * One call of a tool from its parameters to its result. Whatever the tool does is in the result, without secrets and with
 * its card rebuilt; throws only where the signal aborts or the sandbox is at fault.
 */
export async function callTool(
  call: ToolCall,
  dependencies: { sandbox: Sandbox; proxy: Pick<SandboxProxy, 'open'>; redactor: OutputRedactor },
): Promise<ToolRun> {
  const { manifest } = call
  const { redactor } = dependencies
  const coerced = coerceParameters(manifest.parameters, declaredParams(call))
  if (!coerced.ok) return refusal(`Bad parameters for ${manifest.name}: ${coerced.problem}.`, 'failed')
  const params = { ...coerced.params, ...keptParams(call) }
  const payload = JSON.stringify({ params, settings: call.settings, telemetry: call.telemetry })
  const argument = manifest.input === 'argument' ? [Buffer.from(payload).toString('base64')] : []
  if (argument.some((word) => word.length > longestArgument)) {
    const advice = `"input": "stdin" in its manifest takes more`
    return refusal(`The parameters of ${manifest.name} are too large for an argument: ${advice}.`, 'failed')
  }
  const refusedHosts = new Set<string>()
  const limits: SandboxLimits = {
    memoryBytes: manifest.limits.memoryBytes,
    processes,
    wallMs: manifest.limits.timeoutMs,
    outputBytes,
    scratchBytes,
  }
  try {
    const outcome = await runWithNetwork(call, dependencies, refusedHosts, (network) => {
      const { argv, ...command } = call.command
      const [program, ...given] = argv
      return dependencies.sandbox.run({
        ...command,
        argv: [program, ...given, ...argument],
        stdin: new TextEncoder().encode(payload),
        isWritable: manifest.limits.isWritable,
        network,
        limits,
        signal: call.signal,
      })
    })
    const result = readOutput({ ...outcome, limits, redactor })
    // It failed for want of a host: that says little against the tool.
    if (result.error !== null && refusedHosts.size > 0) result.isServiceFailure = true
    const refused = [...refusedHosts].map(
      (host) =>
        `It was not let through to ${host}. The owner can allow it: familiar tools allow ${manifest.name} ${host}`,
    )
    const notes = [...coerced.notes, ...result.notes, ...refused]
    return await toRun(
      { ...result, notes },
      { call, params: coerced.params, log: readLog({ ...outcome, redactor }), outcome },
    )
  } catch (cause) {
    if (!(cause instanceof SandboxUnavailable)) throw cause
    return refusal(cause.fix ? `${cause.message}. To change that: ${cause.fix}` : cause.message, 'refused')
  }
}

/** A run that never began. */
export function refusal(error: string, outcome: 'failed' | 'refused'): ToolRun {
  return {
    ok: false,
    text: null,
    html: null,
    title: null,
    error,
    budgetRemaining: null,
    card: null,
    notes: [],
    durationMs: 0,
    driver: null,
    log: '',
    outcome,
  }
}

async function runWithNetwork(
  { manifest, allowedHosts, onRefused, signal }: ToolCall,
  { proxy }: { proxy: Pick<SandboxProxy, 'open'> },
  refusedHosts: Set<string>,
  run: (network: SandboxNetwork) => Promise<SandboxOutcome>,
): Promise<SandboxOutcome> {
  const { mode, hosts } = manifest.network
  if (mode !== 'bridge') return await run({ kind: mode })
  const way = await proxy.open({
    tool: manifest.name,
    hosts: [...new Set([...hosts, ...allowedHosts])],
    onRefused(host) {
      refusedHosts.add(host)
      onRefused(host)
    },
    signal,
  })
  try {
    return await run({ kind: 'proxy', socketPath: way.socketPath })
  } finally {
    await way.close()
  }
}

/** What came with a webhook is for the tool to make sense of; of it only what the manifest declares is a parameter. */
function declaredParams({ manifest, params, caller }: ToolCall): Json {
  if (caller !== 'webhook' || params === null || typeof params !== 'object' || Array.isArray(params)) return params
  const declared = new Set(manifest.parameters.map(({ name }) => name))
  return Object.fromEntries(Object.entries(params).filter(([key]) => declared.has(key)))
}

/** What only Familiar itself gives: the state of the run before, and what came with a webhook. */
function keptParams({ params, caller, state }: ToolCall): JsonObject {
  return { ...(state !== undefined && { _state: state }), ...(caller === 'webhook' && { _webhook: params }) }
}

async function toRun(
  result: ToolResult,
  { call, params, log, outcome }: { call: ToolCall; params: JsonObject; log: string; outcome: SandboxOutcome },
): Promise<ToolRun> {
  const ok = result.error === null
  const card = ok ? await cardOf(result, call.manifest, params) : undefined
  const { card: settings } = call.manifest.output
  return {
    ok,
    // Without a card to show, its words are all that there is.
    text: ok ? (result.text ?? (settings.isEnabled ? null : (card?.text ?? null))) : null,
    html: card?.html ?? null,
    title: card?.title ?? result.title,
    error: result.error,
    budgetRemaining: result.budgetRemaining,
    card: settings.isEnabled ? (card ?? null) : null,
    notes: result.notes,
    durationMs: outcome.durationMs,
    driver: outcome.driver,
    log: log.length > mostLogCharacters ? `…${log.slice(-mostLogCharacters).toWellFormed()}` : log,
    outcome: outcomeOf(result),
    ...(ok && result.state !== undefined && { state: result.state }),
    ...(result.notify !== undefined && { notify: result.notify }),
  }
}

async function cardOf(
  { html, title }: ToolResult,
  { name, icon, output }: ToolManifest,
  params: JsonObject,
): Promise<Card | undefined> {
  if (!html) return undefined
  // Loaded with the first card: what sanitises it is a tenth of everything that a start would load.
  const { makeCard } = await import('../../../cards/make-card.ts')
  const { accentColor, backgroundColor } = output.card
  const manifestTitle = output.card.title ?? name
  return makeCard({ html, title, manifestTitle, params, accentColor, backgroundColor, icon })
}

function outcomeOf({ error, timedOut, isServiceFailure }: ToolResult): ToolCallRow['outcome'] {
  if (error === null) return 'succeeded'
  if (timedOut) return 'timed_out'
  return isServiceFailure ? 'service_failed' : 'failed'
}
