import type { Clock } from '../../base/clock.ts'
import { FamiliarError } from '../../protocol/error.ts'
import type { Json } from '../../protocol/json.ts'
import { redactJson } from '../../secrets/redact-json.ts'
import type { Redactor } from '../../secrets/redactor.ts'
import type { ToolCallRow } from '../../storage/tables.ts'
import type { ToolAudit } from '../tool-audit.ts'
import { type Capability, toolNameOf } from './capability.ts'
import type { CapabilityCatalog } from './catalog/catalog.ts'
import type { CapabilityExecutor, CapabilityRun, Runnable } from './execute/executor.ts'
import { refusedRun } from './execute/failed-run.ts'

/** Calls of capabilities, whoever makes them. */
export interface CapabilityRuns {
  /**
   * `not_found` where there is none of that name. Whatever else stands against it, and what it does wrong, is in the run;
   * throws only where the signal aborts or the sandbox is at fault.
   */
  run(call: {
    userId: string
    name: string
    /** Absent: the one that serves. */
    version?: number | undefined
    input: Json
    /** A `turn` writes its own calls into the audit trail. */
    caller: ToolCallRow['caller']
    signal: AbortSignal
  }): Promise<CapabilityRun>
}

/** A version never changes: what was read and found whole once need not be read again. */
const mostLoaded = 500

export function createCapabilityRuns(dependencies: {
  catalog: CapabilityCatalog
  executor: Pick<CapabilityExecutor, 'run'>
  audit: Pick<ToolAudit, 'record'>
  redactor: Pick<Redactor, 'redact'>
  clock: Clock
  /** The switch that stops all tools. */
  isEnabled(): boolean
}): CapabilityRuns {
  const { catalog, executor, audit, redactor, clock, isEnabled } = dependencies
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
    for (const oldest of loaded.keys()) if (loaded.size >= mostLoaded) loaded.delete(oldest)
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

  async function runAudited(call: Call, capability: Capability, version: number): Promise<CapabilityRun> {
    if (call.caller === 'turn') return await run(call, capability, version)
    const startedAt = clock.now()
    const record = ({ outcome, durationMs, driver, error }: Omit<CapabilityRun, keyof Unrecorded>) => {
      const { userId, caller } = call
      const tool = toolNameOf(capability.name)
      return audit.record({ userId, tool, caller, userText: '', outcome, durationMs, driver, error })
    }
    try {
      const ran = await run(call, capability, version)
      await record(ran)
      return ran
    } catch (cause) {
      const error = cause instanceof Error ? cause.message : String(cause)
      await record({ outcome: 'failed', durationMs: clock.now() - startedAt, driver: null, error })
      throw cause
    }
  }

  return {
    async run(call) {
      if (!isEnabled()) return refusedRun('Tools are switched off (tools.enabled in the configuration).')
      const { userId, name } = call
      const capability = catalog.find(userId, name)
      if (!capability) throw new FamiliarError('not_found', `There is no capability named ${name}.`)
      const why = whyNotCallable(capability)
      if (why !== undefined) return refusedRun(why)
      return await runAudited(call, capability, call.version ?? capability.version ?? 0)
    },
  }
}

type Call = Parameters<CapabilityRuns['run']>[0]
type Unrecorded = Pick<CapabilityRun, 'ok' | 'value' | 'text' | 'card' | 'log' | 'refusedHosts'>

/** In words for whoever wants to call it; undefined where it serves. */
export function whyNotCallable({ name, state, version, problem }: Capability): string | undefined {
  const reason = problem === null ? '' : ` ${problem}`
  if (state === 'disabled') return `${name} is switched off.${reason} "familiar caps enable ${name}" switches it on.`
  if (state === 'failed') return `${name} could not be built.${reason}`
  return version === null ? `${name} is still being built.` : undefined
}
