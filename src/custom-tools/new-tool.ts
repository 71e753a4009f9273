import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { hasCode } from '../base/files.ts'
import { parseJson } from '../base/json.ts'
import type { Json } from '../protocol/messages.ts'
import { mainFiles } from './builder/inspect-files.ts'
import type { ToolRun } from './execute.ts'
import { type CapabilityManifest, isReservedName, slugPattern, whyNoName } from './manifest.ts'

const testsFile = 'tests.json'

const whole = z.string().nullable().optional()
const part = z.string().optional()
const expectationSchema = z.strictObject({
  text: whole,
  title: whole,
  html: whole,
  error: whole,
  text_contains: part,
  title_contains: part,
  html_contains: part,
  error_contains: part,
})
const testSchema = z.strictObject({
  name: z.string().min(1),
  params: z.record(z.string(), z.custom<Json>()).default({}),
  telemetry: z.record(z.string(), z.custom<Json>()).default({}),
  expect: expectationSchema,
})

/** A run of a tool, and what must come out of it: the very words, or with `_contains` a part of them. */
export type ToolTest = z.infer<typeof testSchema>

type OwnTests =
  | { ok: true; tests: ToolTest[] }
  | { ok: false; code: 'not_found' | 'bad_request'; problem: string; cause?: unknown }

export async function readOwnTests(directory: string): Promise<OwnTests> {
  const path = join(directory, testsFile)
  try {
    const parsed = parseJson(await readFile(path, 'utf8'), z.array(testSchema))
    if (parsed.ok) return { ok: true, tests: parsed.value }
    return { ok: false, code: 'bad_request', problem: `${path} is not a list of tests: ${parsed.message}.` }
  } catch (cause) {
    return { ok: false, code: 'not_found', problem: `${path} cannot be read.`, cause }
  }
}

const parts = ['text', 'title', 'html', 'error'] as const

/** The differences from the expected output; empty if the test passes. An unexpected error is always a failure. */
export function failuresOf({ expect }: ToolTest, run: Pick<ToolRun, (typeof parts)[number]>): string[] {
  const expectsError = expect.error !== undefined || expect.error_contains !== undefined
  if (run.error !== null && !expectsError) return [`it failed: ${run.error}`]
  return parts.flatMap((part) => {
    const whole = expect[part]
    const piece = expect[`${part}_contains`]
    const actual = run[part]
    const shown = JSON.stringify(actual)
    return [
      ...(whole !== undefined && whole !== actual ? [`${part} is ${shown}, not ${JSON.stringify(whole)}`] : []),
      ...(piece !== undefined && !actual?.includes(piece)
        ? [`${part} is ${shown}, without ${JSON.stringify(piece)}`]
        : []),
    ]
  })
}

const runners = { python: 'runner.py', bash: 'runner.sh', node: 'runner.mjs' } as const
export type ToolLanguage = keyof typeof runners

type NewFolder = { ok: true; directory: string; files: string[] } | { ok: false; problem: string }

/** Writes a folder tool that works, with a manifest, a Dockerfile and tests, as a start. Overwrites nothing. */
export async function writeNewTool(request: {
  root: string
  name: string
  language: ToolLanguage
  description?: string | undefined
}): Promise<NewFolder> {
  const { root, name, language, description } = request
  if (!slugPattern.test(name)) {
    const problem =
      'The name of a tool has up to 64 small letters, digits, "_" and "-", and begins with a letter or digit'
    return { ok: false, problem }
  }
  if (isReservedName(name)) return { ok: false, problem: `The name ${name} is kept for a tool of Familiar itself` }
  const runner = runners[language]
  const changes = { ...(description !== undefined && { description }) }
  const files = {
    'manifest.json': await manifestText('tool-manifest.json', { name, changes }),
    Dockerfile: await template(`Dockerfile.${language}`),
    [runner]: await template(runner),
    'tests.json': await template('tool-tests.json'),
  }
  // Only the owner may read or change it.
  return await writeFolder({ root, name, files, mode: 0o700, modeOf: (file) => (file === runner ? 0o700 : 0o600) })
}

/** Writes a tool that passes the gate of built tools as it is. Overwrites nothing. */
export async function writeNewCapability(request: {
  root: string
  name: string
  runtime: CapabilityManifest['runtime']
}): Promise<NewFolder> {
  const { root, name, runtime } = request
  const problem = whyNoName(name)
  if (problem !== undefined) return { ok: false, problem: `${JSON.stringify(name)} is no name: ${problem}` }
  const main = mainFiles[runtime]
  const files = {
    [main]: await template(main),
    'manifest.json': await manifestText('capability-manifest.json', { name, changes: { runtime } }),
    ...(runtime === 'python' && { 'requirements.txt': await template('requirements.txt') }),
    'RUN.md': `# ${name}\n\n${await template('RUN.md')}`,
    'examples.json': await template('capability-examples.json'),
  }
  return await writeFolder({ root, name, files })
}

function template(file: string): Promise<string> {
  return readFile(new URL(`new/${file}`, import.meta.url), 'utf8')
}

async function manifestText(file: string, { name, changes }: { name: string; changes: object }): Promise<string> {
  const manifest: object = JSON.parse(await template(file))
  return `${JSON.stringify({ name, ...manifest, ...changes }, null, 2)}\n`
}

async function writeFolder(folder: {
  root: string
  name: string
  files: Record<string, string>
  mode?: number
  modeOf?(file: string): number
}): Promise<NewFolder> {
  const { root, name, files, mode, modeOf = () => undefined } = folder
  const directory = join(root, name)
  await mkdir(root, { recursive: true, mode })
  try {
    await mkdir(directory, { mode })
  } catch (cause) {
    if (!hasCode(cause, 'EEXIST')) throw cause
    return { ok: false, problem: `There is something at ${directory} already` }
  }
  for (const [file, text] of Object.entries(files)) {
    await writeFile(join(directory, file), text, { flag: 'wx', mode: modeOf(file) })
  }
  return { ok: true, directory, files: Object.keys(files) }
}
