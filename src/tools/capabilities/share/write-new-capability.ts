import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { CapabilityManifest } from '../capability.ts'
import { mainFiles } from '../gate/inspect-files.ts'
import { whyNoName } from '../manifest/capability-name.ts'

type NewCapability = { ok: true; directory: string; files: string[] } | { ok: false; problem: string }

/** Writes a capability that passes the gate as it is, for somebody to change. Touches nothing that is there already. */
export async function writeNewCapability(request: {
  /** The folder is made in it. */
  root: string
  name: string
  runtime: CapabilityManifest['runtime']
}): Promise<NewCapability> {
  const { root, name, runtime } = request
  const problem = whyNoName(name)
  if (problem !== undefined) return { ok: false, problem: `${JSON.stringify(name)} is no name: ${problem}` }
  const directory = join(root, name)
  await mkdir(root, { recursive: true })
  if (!(await makeFolder(directory))) return { ok: false, problem: `There is something at ${directory} already` }
  const main = mainFiles[runtime]
  const files: Record<string, string> = {
    [main]: await readFile(new URL(`new/${main}`, import.meta.url), 'utf8'),
    'manifest.json': toText({ name, ...manifest, runtime }),
    ...(runtime === 'python' && { 'requirements.txt': requirements }),
    'RUN.md': runText(name),
    'examples.json': toText(examples),
  }
  for (const [file, text] of Object.entries(files)) await writeFile(join(directory, file), text, { flag: 'wx' })
  return { ok: true, directory, files: Object.keys(files) }
}

async function makeFolder(directory: string): Promise<boolean> {
  try {
    await mkdir(directory)
    return true
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'EEXIST') return false
    throw cause
  }
}

const manifest = {
  description: 'Counts the words of a text and names the most frequent ones',
  runtime: 'python',
  input_schema: {
    type: 'object',
    properties: {
      text: { type: 'string', description: 'The text to look at' },
      most: { type: 'integer', description: 'How many words to name', minimum: 1, maximum: 20 },
    },
    required: ['text'],
  },
  tags: ['text'],
  asked_as: ['How long is my essay?', 'Which expressions do I repeat all the time?'],
  hosts: [],
  secrets: [],
  storage: false,
  timeout_seconds: 30,
  memory_mb: 256,
}

const requirements = '# One package in each line, with its version: requests>=2.32\n'

const examples = [
  { input: { text: 'the cat and the hat', most: 1 }, expect: { equals: { words: 5, most: [['the', 2]] } } },
  { input: { text: '' }, expect: { contains: '"words":0' } },
  {
    input: { text: 'One fish, two fish' },
    expect: { schema: { type: 'object', required: ['words', 'most'], properties: { words: { const: 4 } } } },
  },
]

function runText(name: string): string {
  return `# ${name}

${manifest.description}.

Give it \`text\`, and \`most\` for how many words to name (3 where it is left out). It answers with \`words\`, how many there
are, and \`most\`, a list of words with how often each is there. Upper and lower case are one.
`
}

function toText(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`
}
