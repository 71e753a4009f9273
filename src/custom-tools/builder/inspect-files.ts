import { z } from 'zod'
import { readBundledText } from '../../base/files.ts'
import { isDeeperThan, parseAnyJson, parseJson } from '../../base/json.ts'
import { findHiddenIn } from '../../base/text.ts'
import type { Json } from '../../protocol/messages.ts'
import type { Redactor } from '../../security/redactor.ts'
import {
  type CapabilityManifest,
  describeIn,
  describeManifestIssues,
  readBuiltManifest as readManifest,
} from '../manifest.ts'
import { isRequirement } from '../packages.ts'
import { checkAgainstSchema, isSame } from '../parameters.ts'
import { type CapabilityFiles, checkFiles, decodeUtf8, readRequirements, readTextFile } from '../tool-folder.ts'
import { lockFile } from '../versions.ts'

export const mainFiles = { python: 'main.py', node: 'main.js' } as const

export interface Inspection {
  /** Each in a sentence. Empty: the files are what they should be, as far as reading them tells. */
  problems: string[]
  /** Absent where the manifest or the paths are wrong. */
  manifest?: CapabilityManifest
  requirements: string[]
  examples: CapabilityExample[]
}

const maxRequirements = 50

export function inspectFiles(
  files: CapabilityFiles,
  { redactor, mustTry }: { redactor: Pick<Redactor, 'redact'>; mustTry: Json | undefined },
): Inspection {
  const paths = checkFiles(files)
  // Files that are too large or outside the folder are not read.
  if (paths.length > 0) return { problems: paths, requirements: [], examples: [] }
  const text = readTextFile(files, 'manifest.json')
  const manifest = text === undefined ? noManifest : readManifest(text)
  const examples = readExamples(readTextFile(files, 'examples.json'))
  const requirements = readRequirements(readTextFile(files, 'requirements.txt') ?? '')
  const read = { requirements, examples: examples.ok ? examples.examples : [] }
  const general = [...(examples.ok ? [] : examples.problems), ...findSecrets(files, redactor), ...findHidden(files)]
  if (!manifest.ok) return { ...read, problems: [...manifest.problems, ...general] }
  const problems = [
    ...mainProblems(files, manifest.manifest),
    ...requirementProblems(files, manifest.manifest, requirements),
    ...inputProblems(read.examples, manifest.manifest),
    ...(examples.ok ? mustTryProblems(read.examples, mustTry) : []),
    ...general,
  ]
  return { ...read, manifest: manifest.manifest, problems }
}

const noManifest = {
  ok: false as const,
  problems: ['manifest.json is missing: it has "name", "description" and "input_schema".'],
}

function mainProblems(files: CapabilityFiles, { runtime }: CapabilityManifest): string[] {
  const main = mainFiles[runtime]
  if (!files.has(main)) return [`${main} is missing: it holds run(args) or run(args, context).`]
  return readTextFile(files, main) === undefined ? [`${main} is no text in UTF-8.`] : []
}

const packageSchema = z.looseObject({ dependencies: z.record(z.string(), z.unknown()).nullish() })

function requirementProblems(files: CapabilityFiles, { runtime }: CapabilityManifest, lines: string[]): string[] {
  if (runtime === 'node') {
    const parsed = parseJson(readTextFile(files, 'package.json') ?? '{}', packageSchema)
    const names = parsed.ok ? [...lines, ...Object.keys(parsed.value.dependencies ?? {})] : lines
    if (names.length === 0) return []
    return [`It needs ${names.join(', ')}, and no packages are installed for Node: use what Node brings, or Python.`]
  }
  if (lines.length > maxRequirements) return [`requirements.txt: expected at most ${maxRequirements} lines.`]
  return lines
    .filter((line) => !isRequirement(line))
    .map(
      (line) => `requirements.txt: ${JSON.stringify(line.slice(0, 200))} is no name with a version, as "requests>=2".`,
    )
}

function inputProblems(examples: readonly CapabilityExample[], { inputSchema }: CapabilityManifest): string[] {
  return examples.flatMap(({ input }, index) =>
    checkAgainstSchema(input, inputSchema, 'input').map(
      (problem) => `Example ${index + 1} does not fit input_schema: ${problem}.`,
    ),
  )
}

function mustTryProblems(examples: readonly CapabilityExample[], mustTry: Json | undefined): string[] {
  if (mustTry === undefined || examples.some(({ input }) => isSame(input, mustTry))) return []
  return [`examples.json: one example must have the input that failed: ${JSON.stringify(mustTry).slice(0, 2_000)}`]
}

// So that the next version gets one that is true of it, and not this one.
const mark = '<!-- Made from manifest.json. Take this line out to keep what you write here. -->'

/** The RUN.md of a capability whose writer wrote none: what it does, how it is called, and what it may do. */
const runTemplate = readBundledText(new URL('run-template.md', import.meta.url))

export const skillFile = 'SKILL.md'

/**
 * The files of a new version: without generated files, with the creation time of the capability, and with a generated
 * RUN.md if there is none.
 */
export function completeFiles(
  files: CapabilityFiles,
  { manifest, firstAt }: { manifest: CapabilityManifest; firstAt: number | undefined },
): CapabilityFiles {
  const completed = new Map(files)
  completed.delete(lockFile)
  completed.delete(skillFile)
  const parsed = parseAnyJson(readTextFile(files, 'manifest.json') ?? '{}')
  const { version, created_at, updated_at, ...written } = (parsed.ok ? parsed.value : {}) as Record<string, unknown>
  const stamped = firstAt === undefined ? written : { ...written, created_at: new Date(firstAt).toISOString() }
  completed.set('manifest.json', Buffer.from(`${JSON.stringify(stamped, null, 2)}\n`))
  const said = readTextFile(files, 'RUN.md')
  if (said === undefined || said.includes(mark))
    completed.set('RUN.md', Buffer.from(describeIn(runTemplate, manifest, { mark })))
  return completed
}

/** The places of invisible characters: code and text must be what they look like (SEC-14). */
export function findHidden(files: CapabilityFiles): string[] {
  return Array.from(files).flatMap(([path, bytes]) => {
    // An input that failed in use may contain anything, and no one decides by it.
    const text = path === 'examples.json' ? undefined : decodeUtf8(bytes)
    if (text === undefined) return []
    const lines = text.split('\n')
    const index = lines.findIndex((line) => findHiddenIn(line, path) !== undefined)
    const found = findHiddenIn(lines[index] ?? '', path)
    return found ? [`${path}, line ${index + 1}: ${found.character} cannot be seen. Write it as an escape.`] : []
  })
}

// The key formats of common services. Each expression takes linear time.
const shapes: readonly [what: string, shape: RegExp][] = [
  ['a private key', /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY/],
  ['an API key', /\bsk-[A-Za-z0-9_-]{20,}/],
  ['an API key', /\b(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{16,}/],
  ['a GitHub token', /\bgh[pousr]_[A-Za-z0-9]{30,}/],
  ['a GitHub token', /\bgithub_pat_[A-Za-z0-9_]{30,}/],
  ['a GitLab token', /\bglpat-[A-Za-z0-9_-]{20,}/],
  ['an AWS key', /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/],
  ['a Google key', /\bAIza[A-Za-z0-9_-]{35}/],
  ['a Slack token', /\bxox[abeoprs]-[A-Za-z0-9-]{10,}/],
  ['a Telegram token', /\b[0-9]{8,10}:[A-Za-z0-9_-]{35}\b/],
  ['a signed token', /\beyJ[A-Za-z0-9_-]{10,999}\.eyJ[A-Za-z0-9_-]{10,999}\.[A-Za-z0-9_-]{10}/],
  ['a bearer token', /\bBearer\s{1,4}[A-Za-z0-9._~+/-]{30}/i],
]

/**
 * The places that look like a secret or contain a known one. Names the place and never the value, because a model reads
 * this.
 */
export function findSecrets(files: CapabilityFiles, redactor: Pick<Redactor, 'redact'>): string[] {
  const problems: string[] = []
  for (const [path, bytes] of files) {
    const text = new TextDecoder().decode(bytes)
    const lines = text.split('\n')
    const known = linesWithKnown(text, lines, redactor)
    for (const [index, line] of lines.entries()) {
      const what = known.has(index) ? 'a secret of yours' : shapes.find(([, shape]) => shape.test(line))?.[0]
      if (what !== undefined) problems.push(`${path}, line ${index + 1}: this is ${what}. ${advice}`)
    }
  }
  return problems
}

const advice = 'Take it out, declare its name under "secrets" in manifest.json and read it from context.secrets.'

function linesWithKnown(text: string, lines: readonly string[], { redact }: Pick<Redactor, 'redact'>): Set<number> {
  if (redact(text) === text) return new Set()
  const found = new Set(lines.flatMap((line, index) => (redact(line) === line ? [] : [index])))
  // It goes over several lines: the first that differs is where it begins.
  if (found.size === 0) {
    const redacted = redact(text).split('\n')
    const first = lines.findIndex((line, index) => line !== redacted[index])
    found.add(Math.max(0, first))
  }
  return found
}

export type CapabilityExample = z.infer<typeof exampleSchema>
type ExamplesReading = { ok: true; examples: CapabilityExample[] } | { ok: false; problems: string[] }

const deepest = 20
const maxExamples = 20

const expectation = z.union(
  [
    z.strictObject({ equals: z.json() }),
    z.strictObject({ contains: z.string().min(1).max(20_000) }),
    z.strictObject({ matches: z.string().min(1).max(500) }),
    z.strictObject({ schema: z.record(z.string(), z.json()) }),
  ],
  { error: 'expected an object with one of "equals", "contains" (a text), "matches" (a regular expression), "schema"' },
)
const exampleSchema = z.strictObject({ input: z.record(z.string(), z.json()), expect: expectation })
const examplesSchema = z.array(exampleSchema).min(1).max(maxExamples)

/**
 * The text of an `examples.json`, or where it is wrong. Never throws. A regular expression in it is not looked at, and
 * neither are hidden characters: an input that failed in use may hold them, and must be able to become an example.
 */
export function readExamples(text: string | undefined): ExamplesReading {
  if (text === undefined) {
    const shape = '[{"input": {…}, "expect": {"contains": "…"}}]'
    return { ok: false, problems: [`examples.json is missing: ${shape}, with at least one example.`] }
  }
  const parsed = parseAnyJson(text)
  if (!parsed.ok) return wrong(`it is no JSON: ${parsed.message}`)
  if (isDeeperThan(parsed.value, deepest)) return wrong('expected a value that is not nested this deeply')
  const checked = examplesSchema.safeParse(parsed.value, { reportInput: true })
  return checked.success ? { ok: true, examples: checked.data } : wrong(describeManifestIssues(checked.error.issues))
}

function wrong(problem: string): ExamplesReading {
  return { ok: false, problems: [`examples.json: ${problem.replace('the manifest: ', 'the whole: ')}.`] }
}
