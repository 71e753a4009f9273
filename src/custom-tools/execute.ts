import { fileURLToPath } from 'node:url'
import type { Clock } from '../base/clock.ts'
import { isRecord } from '../base/json.ts'
import type { Logger } from '../base/logger.ts'
import { FamiliarError } from '../protocol/errors.ts'
import type { Card, Json } from '../protocol/messages.ts'
import { type Sandbox, type SandboxLimits, type SandboxOutcome, SandboxUnavailable } from '../sandbox/sandbox.ts'
import { EgressError } from '../security/network/destinations.ts'
import type { FetchPictures } from '../security/network/picture-fetch.ts'
import type { SandboxProxy } from '../security/network/sandbox-proxy.ts'
import type { Redactor } from '../security/redactor.ts'
import type { Vault } from '../security/vault.ts'
import type { Database } from '../storage/database.ts'
import type { ToolCallRow } from '../storage/tables.ts'
import type { ClientContext } from '../tools/client-context.ts'
import { secretOwnerOf } from './built-catalog.ts'
import type { ReadyCommand } from './command.ts'
import type { CapabilityManifest, JsonObject, ToolManifest } from './manifest.ts'
import {
  cardOf,
  cleanLog,
  keepEnd,
  type LoadPictures,
  type OutputRedactor,
  readOutput,
  readRunLog,
  readRunResult,
  readShellEnd,
} from './output.ts'
import type { PythonPackages } from './packages.ts'
import { checkAgainstSchema, coerceParameters } from './parameters.ts'
import { createCapabilityStorage, type StoragePlace } from './storage.ts'

/** For the caller of any run. Secrets are taken out; the card is rebuilt from what is allowed. */
export interface RunReport {
  ok: boolean
  card: Card | null
  error: string | null
  outcome: ToolCallRow['outcome']
  /** Printed by the program, cut to its end and cleaned. */
  log: string
  durationMs: number
  driver: string | null
}

export interface ToolRun extends RunReport {
  text: string | null
  html: string | null
  title: string | null
  budgetRemaining: number | null
  notes: readonly string[]
  /** For the next run of the tool; absent if the tool returned none. */
  state?: Json
  /** Whether there is anything to tell; absent if the tool leaves that to its manifest. */
  notify?: boolean
}

/** A run of a built tool. The error is in full sentences, with the last lines of the traceback. */
export interface CapabilityRun extends RunReport {
  /** Returned by `run`: a text, or an object. Null if it failed. */
  value: Json
  text: string
  refusedHosts: readonly string[]
}

/** A program of a custom tool on its way into the sandbox. */
interface Program {
  name: string
  command: ReadyCommand
  stdin: string
  isWritable: boolean
  network: ToolManifest['network']
  /** For the program if a host is refused, instead of how the owner allows it. */
  advice?: string
  limits: SandboxLimits
  onRefused?(host: string): void
  signal: AbortSignal
}

interface RunDependencies {
  sandbox: Sandbox
  proxy: Pick<SandboxProxy, 'open'>
  /** Without it the pictures of cards are their descriptions. */
  fetchPictures?: FetchPictures | undefined
}

interface EndedProgram {
  outcome: SandboxOutcome
  refusedHosts: Set<string>
  loadPictures: LoadPictures | undefined
}

const bounds = { processes: 64, outputBytes: 16 * 1024 ** 2, scratchBytes: 64 * 1024 ** 2 }

/** Every run of a custom tool goes through here: a fresh sandbox, and with `bridge` a proxy to the tool's hosts alone. */
async function runProgram(
  program: Program,
  { sandbox, proxy, fetchPictures }: RunDependencies,
): Promise<{ refused: string } | EndedProgram> {
  const { name, command, network, advice, limits, isWritable, signal } = program
  const { mode, hosts } = network
  const refusedHosts = new Set<string>()
  const onRefused = (host: string) => {
    refusedHosts.add(host)
    program.onRefused?.(host)
  }
  let way: Awaited<ReturnType<SandboxProxy['open']>> | undefined
  try {
    if (mode === 'bridge') {
      way = await proxy.open({ tool: name, hosts, onRefused, signal, ...(advice !== undefined && { advice }) })
    }
    const outcome = await sandbox.run({
      ...command,
      stdin: new TextEncoder().encode(program.stdin),
      isWritable,
      network: way ? { kind: 'proxy', socketPath: way.socketPath } : { kind: mode === 'host' ? 'host' : 'none' },
      limits,
      signal,
    })
    // A card is no way around the hosts that the tool may reach.
    const loadPictures: LoadPictures | undefined =
      fetchPictures && mode === 'bridge'
        ? (addresses) => fetchPictures({ addresses, hosts, onRefused, signal })
        : undefined
    return { outcome, refusedHosts, loadPictures }
  } catch (cause) {
    return { refused: describeRefusal(cause) }
  } finally {
    await way?.close()
  }
}

/** Why nothing could run at all. A fault of this program is thrown again. */
export function describeRefusal(cause: unknown): string {
  if (cause instanceof EgressError) return cause.message
  if (!(cause instanceof SandboxUnavailable)) throw cause
  return cause.fix ? `${cause.message}. To change that: ${cause.fix}` : cause.message
}

interface ToolCall {
  manifest: ToolManifest
  command: ReadyCommand
  /** Allowed by the owner beside the hosts that the manifest declares. */
  allowedHosts: readonly string[]
  params: Json
  settings: JsonObject
  telemetry: ClientContext
  caller: ToolCallRow['caller']
  state: Json | undefined
  onRefused(host: string): void
  signal: AbortSignal
}

// The system takes no longer word on a command line than 128 KiB.
const maxArgumentLength = 128 * 1024 - 1
const maxLogCharacters = 4_000

/**
 * One call of a folder tool from its parameters to its result. Whatever the tool does is in the result; throws only if the
 * signal aborts or the sandbox is at fault.
 */
export async function callTool(
  call: ToolCall,
  dependencies: RunDependencies & { redactor: OutputRedactor },
): Promise<ToolRun> {
  const { manifest, command, onRefused, signal } = call
  const { name, icon, output } = manifest
  const { redactor } = dependencies
  const coerced = coerceParameters(manifest.parameters, declaredParams(call))
  if (!coerced.ok) return unstartedRun(`Bad parameters for ${name}: ${coerced.problem}.`, 'failed')
  const params = { ...coerced.params, ...keptParams(call) }
  const stdin = JSON.stringify({ params, settings: call.settings, telemetry: call.telemetry })
  const argument = manifest.input === 'argument' ? [Buffer.from(stdin).toString('base64')] : []
  if (argument.some((word) => word.length > maxArgumentLength)) {
    const advice = `"input": "stdin" in its manifest takes more`
    return unstartedRun(`The parameters of ${name} are too large for an argument: ${advice}.`, 'failed')
  }
  const { memoryBytes, timeoutMs, isWritable } = manifest.limits
  const limits: SandboxLimits = { ...bounds, outputBytes: 1024 ** 2, memoryBytes, wallMs: timeoutMs }
  const hosts = [...new Set([...manifest.network.hosts, ...call.allowedHosts])]
  const network = { mode: manifest.network.mode, hosts }
  const given: ReadyCommand = { ...command, argv: [...command.argv, ...argument] }
  const program = { name, command: given, stdin, isWritable, network, limits, onRefused, signal }
  const ended = await runProgram(program, dependencies)
  if ('refused' in ended) return unstartedRun(ended.refused, 'refused')
  const { outcome, refusedHosts, loadPictures } = ended
  const result = readOutput({ ...outcome, limits, redactor })
  const ok = result.error === null
  // A tool that failed for lack of a host did not fail by itself.
  const failure = refusedHosts.size > 0 && result.outcome === 'failed' ? 'service_failed' : result.outcome
  const { isEnabled: showsCard, title: manifestTitle, ...colors } = output.card
  const { html, title } = result
  const parts = { html, title, manifestTitle: manifestTitle ?? name, params: coerced.params, icon, ...colors }
  const card = ok ? await cardOf(parts, loadPictures) : undefined
  const refused = [...refusedHosts].map(
    (host) => `It was not let through to ${host}. The owner can allow it: familiar tools allow ${name} ${host}`,
  )
  return {
    ok,
    // Without a card to show, its words are all that there is.
    text: ok ? (result.text ?? (showsCard ? null : (card?.text ?? null))) : null,
    html: card?.html ?? null,
    title: card?.title ?? title,
    error: result.error,
    budgetRemaining: result.budgetRemaining,
    card: showsCard ? (card ?? null) : null,
    notes: [...coerced.notes, ...result.notes, ...refused],
    durationMs: Math.round(outcome.durationMs),
    driver: outcome.driver,
    log: keepEnd(readRunLog({ ...outcome, redactor }), maxLogCharacters),
    outcome: ok ? 'succeeded' : failure,
    ...(ok && result.state !== undefined && { state: result.state }),
    ...(result.notify !== undefined && { notify: result.notify }),
  }
}

export const toolsAreOff = 'Tools are switched off (tools.enabled in the configuration).'

const unstarted = { ok: false, card: null, log: '', durationMs: 0, driver: null }

export function unstartedRun(error: string, outcome: 'failed' | 'refused'): ToolRun {
  return { ...unstarted, text: null, html: null, title: null, error, budgetRemaining: null, notes: [], outcome }
}

/** The tool itself makes sense of a webhook's body; only what the manifest declares is a parameter. */
function declaredParams({ manifest, params, caller }: ToolCall): Json {
  if (caller !== 'webhook' || !isRecord(params)) return params
  const declared = new Set(manifest.parameters.map(({ name }) => name))
  return Object.fromEntries(Object.entries(params).filter(([key]) => declared.has(key)))
}

/** Given by Familiar alone: the state of the run before, and the body of a webhook. */
function keptParams({ params, caller, state }: ToolCall): JsonObject {
  return { ...(state !== undefined && { _state: state }), ...(caller === 'webhook' && { _webhook: params }) }
}

/** A version, or a draft that may become one. */
export interface Runnable {
  name: string
  manifest: CapabilityManifest
  /** Holds the files; never changes while it runs. */
  directory: string
  /** Its `requirements.txt`, line by line. */
  requirements: readonly string[]
}

/** The values of what a capability declares, and of nothing else. All that are missing are named at once. */
async function readDeclaredSecrets(
  { name, manifest }: Runnable,
  { userId, vault }: { userId: string; vault: Pick<Vault, 'get'> },
): Promise<{ ok: true; values: Record<string, string> } | { ok: false; problem: string }> {
  const entries: [string, string][] = []
  const missing: string[] = []
  try {
    for (const secret of manifest.secrets) {
      const value = await vault.get({ userId, owner: secretOwnerOf(name), name: secret.name })
      if (value === undefined) missing.push(secret.name)
      else entries.push([secret.name, value])
    }
  } catch (cause) {
    if (cause instanceof FamiliarError) return { ok: false, problem: cause.message }
    throw cause
  }
  if (missing.length === 0) return { ok: true, values: Object.fromEntries(entries) }
  const commands = missing.map((key) => `familiar caps secret ${name} ${key}`).join(', ')
  const [which, are, them] = missing.length === 1 ? ['secret', 'is', 'it'] : ['secrets', 'are', 'them']
  const problem = `${name} needs the ${which} ${missing.join(', ')}, which ${are} not set yet. To set ${them}: ${commands}`
  return { ok: false, problem }
}

type Begun = Pick<CapabilityRun, 'log' | 'refusedHosts' | 'durationMs' | 'driver'>

/** A program seldom says clearly that it lacked a host; a refused one looks like a failure of the service. */
export function failedRun(
  begun: Begun,
  { error, outcome }: { error: string; outcome: CapabilityRun['outcome'] },
): CapabilityRun {
  const failed = { ...begun, ok: false, value: null, text: '', card: null }
  if (begun.refusedHosts.length === 0) return { ...failed, error, outcome }
  const hosts = begun.refusedHosts.join(', ')
  const note = `It was not let through to ${hosts}: the manifest must declare every host that it reaches.`
  return { ...failed, error: `${error}\n${note}`, outcome: outcome === 'service_failed' ? 'failed' : outcome }
}

/** Something that the tool needs is missing, so nothing has run: that says nothing against the tool. */
export function refusedRun(error: string): CapabilityRun {
  return failedRun({ ...unstarted, refusedHosts: [] }, { error, outcome: 'refused' })
}

export const place = '/capability'
const packagesPlace = '/familiar/python'
const harnesses = {
  python: { program: 'python3', options: [], file: 'run-capability.py' },
  // Node detects the module type of `main.js` itself; its warning would be in every log.
  node: { program: 'node', options: ['--disable-warning=MODULE_TYPELESS_PACKAGE_JSON'], file: 'run-capability.mjs' },
} as const

/**
 * The harness that calls `run`, or a line for a shell, beside the files. The Python harness is a plain script, which the
 * sandbox can fork instead of starting an interpreter.
 */
function commandFor({ manifest, directory }: Runnable, packages: string | undefined, shell?: string): ReadyCommand {
  const { program, options, file } = harnesses[manifest.runtime]
  const target = `/familiar/${file}`
  const harness = { source: fileURLToPath(new URL(file, import.meta.url)), target }
  return {
    argv: shell === undefined ? [program, ...options, target] : ['sh', '-c', shell],
    environment: {
      PYTHONPATH: packages === undefined ? place : `${place}:${packagesPlace}`,
      PYTHONDONTWRITEBYTECODE: '1',
    },
    workingDirectory: place,
    mounts: [
      { source: directory, target: place },
      ...(packages === undefined ? [] : [{ source: packages, target: packagesPlace }]),
      ...(shell === undefined ? [harness] : []),
    ],
  }
}

const noSecrets = { ok: true as const, values: {} }
const tryLimits: SandboxLimits = { ...bounds, wallMs: 120_000, memoryBytes: 512 * 1024 ** 2 }

export type CapabilityExecutor = ReturnType<typeof createCapabilityExecutor>

/**
 * Runs built tools (CAP-5): a fresh sandbox for every call, with nothing of the call before but declared storage. The
 * result travels apart from what is printed. Whatever the code does is in the run; throws only if the signal aborts or
 * the sandbox is at fault.
 */
export function createCapabilityExecutor(
  dependencies: RunDependencies & {
    packages: PythonPackages
    vault: Pick<Vault, 'get'>
    redactor: Pick<Redactor, 'redact'>
    database: Database
    clock: Clock
    logger: Logger
  },
) {
  const { sandbox, packages, vault, redactor, logger } = dependencies
  const storage = createCapabilityStorage(dependencies)

  /** Builds the packages of the requirements unless they are built; one build for all who need the same. */
  async function prepare(
    { manifest, requirements }: Pick<Runnable, 'manifest' | 'requirements'>,
    signal: AbortSignal,
  ): Promise<{ ok: true; directory: string | undefined } | { ok: false; problem: string }> {
    const { name, runtime } = manifest
    try {
      if (runtime === 'python' && (await sandbox.missingPrograms(['python3'])).length > 0) {
        return { ok: false, problem: `${name} needs python3, which is not installed: sudo apt-get install python3` }
      }
      if (requirements.length === 0) return { ok: true, directory: undefined }
      if (runtime === 'node') {
        const problem = `${name} needs ${requirements.join(', ')} for Node, and packages are installed for Python alone.`
        return { ok: false, problem: `${problem} What it needs must be among its own files.` }
      }
      const directory = await packages.find(requirements)
      if (directory !== undefined) return { ok: true, directory }
      logger.info('packages of a capability are built', { capability: name, requirements })
      const build = await packages.build(requirements, signal)
      return build.ok ? build : { ok: false, problem: `${name} ${build.problem}` }
    } catch (cause) {
      return { ok: false, problem: describeRefusal(cause) }
    }
  }

  /** Refused: something that the tool needs is missing, and nothing of the tool has run. */
  async function start(
    { runnable, userId, signal }: { runnable: Runnable; userId: string; signal: AbortSignal },
    attempt: {
      limits: SandboxLimits
      storage: [key: string, value: string][] | null
      /** For the harness, or a line for a shell, which gets no secret. */
      given: { input: Json } | { code: string } | { shell: string }
    },
  ): Promise<{ refused: string } | (EndedProgram & { run: Begun })> {
    const built = await prepare(runnable, signal)
    if (!built.ok) return { refused: built.problem }
    const { given, storage, limits } = attempt
    const shell = 'shell' in given ? given.shell : undefined
    const secrets = shell === undefined ? await readDeclaredSecrets(runnable, { userId, vault }) : noSecrets
    if (!secrets.ok) return { refused: secrets.problem }
    const context = { secrets: secrets.values, storage }
    const { hosts } = runnable.manifest
    const ended = await runProgram(
      {
        name: runnable.name,
        command: commandFor(runnable, built.directory, shell),
        stdin: shell === undefined ? JSON.stringify({ ...given, context }) : '',
        isWritable: true,
        network: { mode: hosts.length > 0 ? 'bridge' : 'none', hosts },
        advice: 'A capability reaches only the hosts that its manifest declares.',
        limits,
        signal,
      },
      dependencies,
    )
    if ('refused' in ended) return ended
    const { stdout, stderr, durationMs, driver } = ended.outcome
    const run = {
      log: cleanLog([stdout, stderr], redactor.redact),
      durationMs: Math.round(durationMs),
      driver,
      // Also those of its pictures, which are fetched later.
      get refusedHosts() {
        return [...ended.refusedHosts]
      },
    }
    return { ...ended, run }
  }

  return {
    async run(call: {
      userId: string
      runnable: Runnable
      input: Json
      /** `kept`: with the stored values of the tool; its changes are written after a success. `scratch`: empty and discarded. */
      storage: StoragePlace
      signal: AbortSignal
    }): Promise<CapabilityRun> {
      const { userId, runnable, input, storage: place, signal } = call
      const { manifest } = runnable
      const problems = checkAgainstSchema(input, manifest.inputSchema)
      if (problems.length > 0) return refusedRun(`The input does not fit ${runnable.name}: ${problems.join('; ')}.`)
      const limits: SandboxLimits = { ...bounds, wallMs: manifest.timeoutMs, memoryBytes: manifest.memoryBytes }
      const kept = manifest.storage ? await storage.read(place) : null
      const started = await start({ runnable, userId, signal }, { limits, storage: kept, given: { input } })
      if ('refused' in started) return refusedRun(started.refused)
      const { outcome, loadPictures, run } = started
      const result = await readRunResult(outcome, { runnable, input, limits, redactor, loadPictures })
      if (!result.ok) return failedRun(run, result)
      const problem = await storage.write(place, result.changes)
      if (problem !== undefined) return failedRun(run, { error: problem, outcome: 'failed' })
      const { value, text, card } = result
      return { ...run, ok: true, value, text, card, error: null, outcome: 'succeeded' }
    },

    prepare,

    /**
     * Runs a command or a piece of code beside the files of a draft, for the Builder. `/capability` holds the files,
     * read-only, and is on the path; files in `/tmp` are gone afterwards.
     */
    async tryOut(attempt: {
      userId: string
      runnable: Runnable
      command: { code: string } | { shell: string }
      signal: AbortSignal
    }): Promise<CapabilityRun> {
      const { runnable, command } = attempt
      const storage = runnable.manifest.storage ? [] : null
      const started = await start(attempt, { limits: tryLimits, storage, given: command })
      if ('refused' in started) return refusedRun(started.refused)
      const { outcome, run } = started
      const result =
        'shell' in command
          ? readShellEnd(outcome, tryLimits)
          : await readRunResult(outcome, { runnable, input: null, limits: tryLimits, redactor })
      const text = run.log.trim() === '' ? 'It printed nothing.' : run.log
      if (!result.ok) return { ...failedRun(run, result), text }
      return { ...run, ok: true, value: null, text, card: null, error: null, outcome: 'succeeded' }
    },
  }
}
