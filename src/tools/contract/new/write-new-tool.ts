import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { slug } from '../manifest/manifest-schema.ts'
import { isReservedName } from '../manifest/reserved-names.ts'

const runners = { python: 'runner.py', bash: 'runner.sh', node: 'runner.mjs' } as const
/** For whoever runs it with a container engine; without one the programs of this machine do the same. */
const dockerfiles = {
  python: ['FROM python:3.12-slim', 'WORKDIR /tool', 'COPY runner.py .', 'ENTRYPOINT ["python", "-u", "runner.py"]'],
  bash: [
    'FROM alpine:3.19',
    'RUN apk add --no-cache bash jq',
    'WORKDIR /tool',
    'COPY runner.sh .',
    'ENTRYPOINT ["bash", "runner.sh"]',
  ],
  node: ['FROM node:22-slim', 'WORKDIR /tool', 'COPY runner.mjs .', 'ENTRYPOINT ["node", "runner.mjs"]'],
} as const
export type ToolLanguage = keyof typeof runners

type NewTool = { ok: true; directory: string; files: string[] } | { ok: false; problem: string }

/** Writes a tool that works, with a manifest and tests, for somebody to change. Touches nothing that is there already. */
export async function writeNewTool(request: {
  /** The folder of tools; made where it is not there. */
  root: string
  name: string
  language: ToolLanguage
  description?: string | undefined
}): Promise<NewTool> {
  const { root, name, language, description = 'Greets somebody by name' } = request
  if (!slug.test(name)) {
    const problem =
      'The name of a tool has up to 64 small letters, digits, "_" and "-", and begins with a letter or digit'
    return { ok: false, problem }
  }
  if (isReservedName(name)) return { ok: false, problem: `The name ${name} is kept for a tool of Familiar itself` }
  const directory = join(root, name)
  await mkdir(root, { recursive: true, mode: 0o700 })
  if (!(await makeFolder(directory))) return { ok: false, problem: `There is something at ${directory} already` }
  const runner = runners[language]
  const files: Record<string, string> = {
    'manifest.json': toText(manifestOf(name, description)),
    Dockerfile: `${dockerfiles[language].join('\n')}\n`,
    [runner]: await readFile(new URL(runner, import.meta.url), 'utf8'),
    'tests.json': toText(tests),
  }
  for (const [file, text] of Object.entries(files)) {
    await writeFile(join(directory, file), text, { flag: 'wx', mode: file === runner ? 0o700 : 0o600 })
  }
  return { ok: true, directory, files: Object.keys(files) }
}

async function makeFolder(directory: string): Promise<boolean> {
  try {
    await mkdir(directory, { mode: 0o700 })
    return true
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'EEXIST') return false
    throw cause
  }
}

function manifestOf(name: string, description: string): object {
  return {
    name,
    description,
    version: '1.0.0',
    category: 'utility',
    icon: '👋',
    trigger: { type: 'on_demand' },
    input: 'stdin',
    parameters: { name: { type: 'string', description: 'Whom to greet', required: true } },
    returns: { text: { type: 'string' }, html: { type: 'string' } },
    output: {
      synthesize: true,
      label: 'internal',
      card: {
        enabled: true,
        title: 'Hello, {{name}}',
        accent_color: '#6c63ff',
        background_color: 'rgba(108, 99, 255, 0.10)',
      },
    },
    constraints: { timeout_seconds: 9 },
    sandbox: { network: 'none' },
  }
}

const nowhere = { city: null }
const tests = [
  { name: 'greets by name', params: { name: 'Ada' }, telemetry: nowhere, expect: { text: 'Hello, Ada!' } },
  {
    name: 'says where',
    params: { name: 'Ada' },
    telemetry: { city: 'Valletta' },
    expect: { text_contains: 'Valletta', html_contains: 'Valletta' },
  },
  { name: 'shows markup as text', params: { name: '<b>' }, telemetry: nowhere, expect: { html_contains: '&lt;b&gt;' } },
  { name: 'needs a name', params: {}, expect: { error_contains: 'name' } },
]

function toText(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`
}
