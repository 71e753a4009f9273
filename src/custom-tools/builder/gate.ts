import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { parseJson } from '../../base/json.ts'
import type { Logger } from '../../base/logger.ts'
import type { Json } from '../../protocol/messages.ts'
import type { Sandbox, SandboxCommand, SandboxOutcome } from '../../sandbox/sandbox.ts'
import type { Redactor } from '../../security/redactor.ts'
import type { Writer } from '../../storage/database.ts'
import type { Capability, CapabilityCatalog, CapabilityOrigin } from '../built-catalog.ts'
import { type CapabilityExecutor, type CapabilityRun, describeRefusal, place, type Runnable } from '../execute.ts'
import type { CapabilityManifest } from '../manifest.ts'
import { checkAgainstSchema, isSame } from '../parameters.ts'
import { createStagedFiles } from '../stored-files.ts'
import { type CapabilityFiles, checkFiles } from '../tool-folder.ts'
import { type CapabilityExample, completeFiles, type Inspection, inspectFiles } from './inspect-files.ts'

export interface ExampleResult {
  input: Json
  ok: boolean
  detail: string
}

/** With everything that is wrong, each in a sentence that says where and what to do. */
interface Refused {
  ok: false
  problems: readonly string[]
  examples: readonly ExampleResult[]
}

type GateVerdict = Refused | { ok: true; manifest: CapabilityManifest; examples: readonly ExampleResult[] }

export type Registration =
  | Refused
  | { ok: true; capability: Capability; version: number; examples: readonly ExampleResult[] }

const origins: Record<CapabilityOrigin, string> = {
  built: 'that Familiar has built',
  written: 'that was registered from a folder',
  imported: 'that was imported',
}

/**
 * Why a capability may not have this name; undefined if it may. With `wanted` it is a new version of that capability.
 * Otherwise it can only replace one of the same origin: a folder never replaces a built or imported one.
 */
export function whyTaken(
  name: string,
  {
    wanted,
    origin,
    existing,
  }: { wanted: string | undefined; origin: CapabilityOrigin; existing: Capability | undefined },
): string | undefined {
  if (wanted !== undefined) {
    return name === wanted
      ? undefined
      : `manifest.json: name: expected ${JSON.stringify(wanted)}, found ${JSON.stringify(name)}.`
  }
  if (!existing || existing.origin === origin) return undefined
  return `The name ${name} is taken by a capability ${origins[existing.origin]}: choose another name.`
}

interface Examination {
  userId: string
  /** An input that one of the examples must have: what a repair was asked for. */
  mustTry?: Json
  onProgress?(line: string): void
  signal: AbortSignal
}

export type CapabilityGate = ReturnType<typeof createCapabilityGate>

/**
 * The only way into the catalog (CAP-4). The gate checks the files, builds their dependencies, and runs their examples
 * in fresh sandboxes with only what they declare. A refusal leaves the catalog unchanged.
 */
export function createCapabilityGate(dependencies: {
  executor: Pick<CapabilityExecutor, 'run' | 'prepare'>
  catalog: Pick<CapabilityCatalog, 'find' | 'publish'>
  sandbox: Sandbox
  redactor: Pick<Redactor, 'redact'>
  /** A folder of this program alone, for files while they are looked at. */
  directory: string
  logger: Logger
}) {
  const { executor, catalog, sandbox, redactor, logger } = dependencies
  const staged = createStagedFiles(dependencies)

  /** Everything that is refused goes to a model or a screen. */
  function refuse(problems: readonly string[], examples: readonly ExampleResult[] = []): Refused {
    const told = examples.map((example) => ({ ...example, detail: redactor.redact(example.detail) }))
    return { ok: false, problems: problems.map(redactor.redact), examples: told }
  }

  /**
   * Checks files. Reports all problems that reading finds at once. If there are none, `examine` gets the files of the
   * new version in a folder that does not change.
   */
  async function judge(
    given: CapabilityFiles,
    {
      mustTry,
      existing,
      whyNot,
      signal,
    }: Pick<Examination, 'mustTry' | 'signal'> & {
      existing?(manifest: CapabilityManifest): Capability | undefined
      whyNot?(manifest: CapabilityManifest): string | undefined
    },
    examine: (inspected: Required<Inspection>, directory: string) => Promise<GateVerdict>,
  ): Promise<{ verdict: GateVerdict; files: CapabilityFiles }> {
    const read = inspectFiles(given, { redactor, mustTry })
    const { manifest } = read
    if (!manifest) return { verdict: refuse(read.problems), files: given }
    const files = completeFiles(given, { manifest, firstAt: existing?.(manifest)?.createdAt })
    const inspected = { ...read, manifest }
    const verdict = await staged(files, async (directory) => {
      const ofCode = await inspectCode({ ...inspected, directory, files }, { sandbox, signal })
      const problems = [whyNot?.(manifest) ?? [], checkFiles(files), read.problems, ofCode].flat()
      return problems.length > 0 ? refuse(problems) : await examine(inspected, directory)
    })
    return { verdict, files }
  }

  async function tryOut(
    { manifest, requirements, examples }: Required<Inspection>,
    directory: string,
    { userId, onProgress = () => {}, signal }: Examination,
  ): Promise<GateVerdict> {
    onProgress('The files are as they should be.')
    if (requirements.length > 0) onProgress(`Installing ${requirements.join(', ')}.`)
    const prepared = await executor.prepare({ manifest, requirements }, signal)
    if (!prepared.ok) return refuse([`requirements.txt: ${prepared.problem}`])
    const runnable: Runnable = { name: manifest.name, manifest, directory, requirements }
    const ran = await runExamples({ userId, runnable, examples }, { executor, sandbox, onProgress, signal })
    if (ran.problems.length > 0) return refuse(ran.problems, ran.results)
    return { ok: true, manifest, examples: ran.results }
  }

  return {
    /** Without running anything of theirs: names, manifest, syntax, secrets in the code, hidden characters. */
    async inspect(files: CapabilityFiles, signal: AbortSignal): Promise<GateVerdict> {
      const { verdict } = await judge(files, { signal }, async ({ manifest }) => ({ ok: true, manifest, examples: [] }))
      return verdict
    },
    async check(files: CapabilityFiles, options: Examination): Promise<GateVerdict> {
      const { verdict } = await judge(files, options, (...draft) => tryOut(...draft, options))
      return verdict
    },
    /** `check`, and then a new version that serves from then on. A build registers once, however often it asks. */
    async register(
      given: CapabilityFiles,
      options: Examination & {
        origin: CapabilityOrigin
        /** The name that it must have. Absent: its own, which must not be another's. */
        name?: string
        buildId?: string
        /** Written in the unit that makes the version serve. */
        also?(writer: Writer, version: { capabilityId: string; version: number }): Promise<void>
      },
    ): Promise<Registration> {
      const { userId, origin, name: wanted, buildId = null, also } = options
      const existing = ({ name }: CapabilityManifest) => catalog.find(userId, name)
      const whyNot = (manifest: CapabilityManifest) =>
        whyTaken(manifest.name, { wanted, origin, existing: existing(manifest) })
      const judged = { ...options, existing, whyNot }
      const { verdict, files } = await judge(given, judged, (...draft) => tryOut(...draft, options))
      if (!verdict.ok) {
        logger.info('a capability was refused', { origin, problems: verdict.problems.length })
        return verdict
      }
      const { manifest, examples } = verdict
      const published = await catalog.publish({
        userId,
        manifest,
        files,
        // A repair changes nothing about where a capability comes from, and what that says of it.
        origin: (buildId === null ? undefined : existing(manifest)?.origin) ?? origin,
        buildId,
        state: 'active',
        ...(also && { also }),
      })
      return { ok: true, ...published, examples }
    },
  }
}

const answerSchema = z.object({ problems: z.array(z.string()) })
const limits = {
  memoryBytes: 256 * 1024 ** 2,
  processes: 32,
  wallMs: 20_000,
  outputBytes: 1024 ** 2,
  scratchBytes: 1024 ** 2,
}

/** Code of this program about untrusted texts, in a sandbox that can neither write nor reach anything. */
function runAlone(
  sandbox: Sandbox,
  command: Pick<SandboxCommand, 'argv' | 'mounts' | 'limits' | 'signal'> & { given: object },
): Promise<SandboxOutcome> {
  const { given, ...rest } = command
  return sandbox.run({
    ...rest,
    environment: {},
    workingDirectory: '/',
    stdin: new TextEncoder().encode(JSON.stringify(given)),
    isWritable: false,
    network: { kind: 'none' },
  })
}

const readers = {
  python: { argv: ['python3'], file: 'inspect-code.py', isCode: /\.py$/ },
  node: {
    argv: ['node', '--no-warnings', '--experimental-vm-modules'],
    file: 'inspect-code.mjs',
    isCode: /\.[cm]?js$/,
  },
} as const

/**
 * The problems of the code, from a parser of its own language in a sandbox without a network. The code does not run:
 * the parser only looks for a `run` that takes one or two arguments.
 */
async function inspectCode(
  draft: {
    directory: string
    files: CapabilityFiles
    manifest: CapabilityManifest
    examples: readonly CapabilityExample[]
  },
  { sandbox, signal }: { sandbox: Sandbox; signal: AbortSignal },
): Promise<string[]> {
  const { argv, file, isCode } = readers[draft.manifest.runtime]
  const [program, ...options] = argv
  const patterns = draft.examples.flatMap(({ expect }, index) =>
    'matches' in expect ? [[index + 1, expect.matches] as const] : [],
  )
  const paths = [...draft.files.keys()]
  const asked = { files: paths.filter((path) => isCode.test(path)), others: paths.filter((path) => !isCode.test(path)) }
  const reader = `/familiar/${file}`
  try {
    const outcome = await runAlone(sandbox, {
      argv: [program, ...options, reader, place],
      given: { ...asked, patterns },
      mounts: [
        { source: draft.directory, target: place },
        { source: fileURLToPath(new URL(file, import.meta.url)), target: reader },
      ],
      limits,
      signal,
    })
    const answer = parseJson(new TextDecoder().decode(outcome.stdout), answerSchema)
    if (answer.ok && outcome.end.kind === 'exited' && outcome.end.code === 0) return answer.value.problems
    const said = new TextDecoder().decode(outcome.stderr).trim().slice(-500)
    return [`The code cannot be parsed: ${said || `the parser ended with ${outcome.end.kind}`}`]
  } catch (cause) {
    return [`The code cannot be checked: ${describeRefusal(cause)}`]
  }
}

const textLimits = { ...limits, wallMs: 3_000, outputBytes: 1024 }
const matchers = {
  python: [
    'python3',
    '-c',
    'import json, re, sys; given = json.load(sys.stdin); print(bool(re.search(given["pattern"], given["text"])))',
  ],
  node: [
    'node',
    '-e',
    "const { pattern, text } = JSON.parse(require('fs').readFileSync(0, 'utf8')); console.log(new RegExp(pattern, 'u').test(text))",
  ],
} as const

/**
 * Whether a regular expression of the runtime finds something. Both are untrusted, and some expressions never end on
 * some texts: so it runs in a sandbox with a limit of a few seconds. Undefined if it did not end.
 */
async function matchText(
  { runtime, pattern, text }: { runtime: CapabilityManifest['runtime']; pattern: string; text: string },
  { sandbox, signal }: { sandbox: Sandbox; signal: AbortSignal },
): Promise<boolean | undefined> {
  const command = { argv: matchers[runtime], given: { pattern, text }, mounts: [], limits: textLimits, signal }
  const outcome = await runAlone(sandbox, command)
  const said = new TextDecoder().decode(outcome.stdout).trim().toLowerCase()
  return said === 'true' || said === 'false' ? said === 'true' : undefined
}

const maxShownLength = 1_000

/**
 * A name that leads nowhere on every machine. With it, what declares no host has a way out that refuses everything and
 * knows what was asked for, instead of none, which tells nothing.
 */
const nowhere = 'nothing-is-declared.invalid'

/** Each example in a sandbox of its own, with storage that is empty and gone after it. */
async function runExamples(
  draft: { userId: string; runnable: Runnable; examples: readonly CapabilityExample[] },
  dependencies: {
    executor: Pick<CapabilityExecutor, 'run'>
    sandbox: Sandbox
    onProgress(line: string): void
    signal: AbortSignal
  },
): Promise<{ results: ExampleResult[]; problems: string[] }> {
  const { userId, examples } = draft
  const { executor, onProgress, signal } = dependencies
  const { manifest } = draft.runnable
  const watched = manifest.hosts.length > 0 ? manifest : { ...manifest, hosts: [nowhere] }
  const runnable: Runnable = { ...draft.runnable, manifest: watched }
  const results: ExampleResult[] = []
  const problems: string[] = []
  const refused = new Set<string>()
  for (const [index, { input, expect }] of examples.entries()) {
    const run = await executor.run({ userId, runnable, input, storage: { kind: 'scratch' }, signal })
    const problem = await problemOf(run, expect)
    for (const host of run.refusedHosts) refused.add(host)
    results.push({ input, ok: problem === undefined, detail: problem ?? '' })
    if (problem !== undefined) problems.push(`Example ${index + 1}: ${problem}`)
    onProgress(`Example ${index + 1} of ${examples.length} ${problem === undefined ? 'passed' : 'failed'}.`)
  }
  for (const host of refused) {
    problems.push(
      `It tried to reach ${host}, which its manifest does not declare: add it to "hosts", or do without it.`,
    )
  }
  return { results, problems }

  async function problemOf(run: CapabilityRun, expect: CapabilityExample['expect']): Promise<string | undefined> {
    if (!run.ok) {
      const printed = run.log.trim().slice(-maxShownLength).toWellFormed()
      return `it failed. ${run.error ?? 'It gave no reason.'}${printed === '' ? '' : `\nIt printed: ${printed}`}`
    }
    if ('equals' in expect) {
      if (isSame(run.value, expect.equals)) return undefined
      return `expected ${shown(JSON.stringify(expect.equals))}, and it returned ${shown(JSON.stringify(run.value))}`
    }
    if ('contains' in expect) {
      if (run.text.includes(expect.contains)) return undefined
      return `expected a text that contains ${JSON.stringify(expect.contains)}, and it returned ${shown(run.text)}`
    }
    if ('schema' in expect) {
      const wrong = checkAgainstSchema(run.value, expect.schema)
      return wrong.length === 0 ? undefined : `what it returned does not fit: ${wrong.join('; ')}`
    }
    const { runtime } = manifest
    const matches = await matchText({ runtime, pattern: expect.matches, text: run.text }, dependencies)
    if (matches === undefined) return `the regular expression ${JSON.stringify(expect.matches)} did not come to an end`
    if (matches) return undefined
    return `expected a text that matches ${JSON.stringify(expect.matches)}, and it returned ${shown(run.text)}`
  }
}

function shown(text: string): string {
  return text.length > maxShownLength ? `${text.slice(0, maxShownLength).toWellFormed()}…` : text
}
