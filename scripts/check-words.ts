import { importsOf } from './imports-of.ts'
import { isTest, type Report, type SourceFiles } from './source-files.ts'

interface Restriction {
  what: string
  imports?: RegExp
  words?: RegExp
  /** Folders of src that own it. */
  owners: string[]
  instead: string
}

// What biome can express with one list of owners (the global `fetch`, `process.env`) stands in biome.json.
const restrictions: Restriction[] = [
  {
    what: 'node:fs',
    imports: /^(node:)?fs(\/promises)?$/,
    owners: ['base', 'storage', 'memory/files', 'daemon', 'cli'],
    instead: 'use the safe files of src/base',
  },
  {
    what: 'node:child_process',
    imports: /^(node:)?child_process$/,
    owners: ['base', 'memory/embedding', 'sandbox', 'daemon', 'cli'],
    instead: 'use the child processes of src/base or a sandbox',
  },
  {
    what: 'undici',
    imports: /^undici$/,
    owners: ['egress'],
    instead: 'take the guarded fetch of src/egress as an argument',
  },
  {
    what: 'a fetch of the global object',
    words: /(?<!typeof )\b(globalThis|global|window|self)\.fetch\b/,
    owners: ['egress', 'cli'],
    instead: 'take the guarded fetch of src/egress as an argument',
  },
  {
    what: 'HTML from a string',
    words: /\.(innerHTML|outerHTML)\b|\binsertAdjacentHTML\b|\bdangerouslySetInnerHTML\b|\bdocument\.write\b/,
    owners: [],
    instead: 'build elements, or render the card in its frame',
  },
]

/** Dangerous means are used only in the folder that owns them. Tests may use everything. */
export function checkWords(files: SourceFiles): Report {
  const findings = [...files]
    .filter(([path]) => /^(src|web)\//.test(path) && !isTest(path))
    .flatMap(([path, text]) => restrictions.flatMap((restriction) => violations(path, text, restriction)))
  return { findings }
}

function violations(path: string, text: string, { what, imports, words, owners, instead }: Restriction): string[] {
  if (owners.some((owner) => path.startsWith(`src/${owner}/`))) return []
  const isUsed = (imports && importsOf(text).some((name) => imports.test(name))) || words?.test(text)
  return isUsed ? [`${path}: ${what} belongs to ${ownersOf(owners)}: ${instead}`] : []
}

function ownersOf(owners: string[]): string {
  return owners.length === 0 ? 'nobody' : owners.map((owner) => `src/${owner}`).join(', ')
}
