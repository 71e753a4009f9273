import { z } from 'zod'
import { parseJson } from '../../../base/json.ts'
import type { Json } from '../../../protocol/json.ts'
import type { Redactor } from '../../../secrets/redactor.ts'
import { isRequirement } from '../../packages/python-packages.ts'
import type { CapabilityExample, CapabilityFiles, CapabilityManifest } from '../capability.ts'
import { checkAgainstSchema, isSame } from '../manifest/json-schema.ts'
import { readExamples } from '../manifest/read-examples.ts'
import { readManifest } from '../manifest/read-manifest.ts'
import { readRequirements } from '../manifest/read-requirements.ts'
import { checkFiles, readText } from '../versions/capability-files.ts'
import { findHidden } from './find-hidden.ts'
import { findSecrets } from './find-secrets.ts'

export const mainFiles = { python: 'main.py', node: 'main.js' } as const

export interface Inspection {
  /** Each in a sentence. Empty: the files are what they should be, as far as reading them tells. */
  problems: string[]
  /** Absent where the manifest or the paths are wrong. */
  manifest?: CapabilityManifest
  requirements: string[]
  examples: CapabilityExample[]
}

const mostRequirements = 50

/** What can be told of files by reading them. */
export function inspectFiles(
  files: CapabilityFiles,
  { redactor, mustTry }: { redactor: Pick<Redactor, 'redact'>; mustTry: Json | undefined },
): Inspection {
  const paths = checkFiles(files)
  // What is too large or lies elsewhere is not read.
  if (paths.length > 0) return { problems: paths, requirements: [], examples: [] }
  const text = readText(files, 'manifest.json')
  const manifest = text === undefined ? noManifest : readManifest(text)
  const examplesText = readText(files, 'examples.json')
  const examples = examplesText === undefined ? noExamples : readExamples(examplesText)
  const requirements = readRequirements(readText(files, 'requirements.txt') ?? '')
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
const noExamples = {
  ok: false as const,
  problems: ['examples.json is missing: [{"input": {…}, "expect": {"contains": "…"}}], with at least one example.'],
}

function mainProblems(files: CapabilityFiles, { runtime }: CapabilityManifest): string[] {
  const main = mainFiles[runtime]
  if (!files.has(main)) return [`${main} is missing: it holds run(args) or run(args, context).`]
  return readText(files, main) === undefined ? [`${main} is no text in UTF-8.`] : []
}

const packageSchema = z.looseObject({ dependencies: z.record(z.string(), z.unknown()).nullish() })

function requirementProblems(files: CapabilityFiles, { runtime }: CapabilityManifest, lines: string[]): string[] {
  if (runtime === 'node') {
    const parsed = parseJson(readText(files, 'package.json') ?? '{}', packageSchema)
    const names = parsed.ok ? [...lines, ...Object.keys(parsed.value.dependencies ?? {})] : lines
    if (names.length === 0) return []
    return [`It needs ${names.join(', ')}, and no packages are installed for Node: use what Node brings, or Python.`]
  }
  if (lines.length > mostRequirements) return [`requirements.txt: expected at most ${mostRequirements} lines.`]
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
