import { type SeededRandom, seededRandom } from '../recall-scale/seeded-random.ts'

export interface MadeQuery {
  text: string
  /** The path that the query is meant to find. */
  target: string
}

/**
 * Queries as people type them for a path that they remember: the start of its name, its words, a folder, with letters
 * left out.
 */
export function madeQueries(paths: readonly string[], options: { count: number; seed: number }): MadeQuery[] {
  const random = seededRandom(options.seed)
  return Array.from({ length: options.count }, (_, index) => {
    const target = random.pick(paths)
    const way = ways[index % ways.length] as Way
    return { text: way(partsOf(target), random), target }
  })
}

interface Parts {
  folders: string[]
  /** Without what follows the first full stop. */
  stem: string
  name: string
}

type Way = (parts: Parts, random: SeededRandom) => string

const ways: readonly Way[] = [
  ({ stem }) => stem.toLowerCase(),
  ({ name }) => name,
  ({ stem }, random) => stem.toLowerCase().slice(0, 4 + random.below(5)),
  ({ folders, stem }, random) => `${folders.length > 0 ? random.pick(folders) : ''}/${stem}`.toLowerCase(),
  ({ folders, stem }) => `${folders.map((folder) => folder.charAt(0)).join('')}${stem.slice(0, 6)}`.toLowerCase(),
  ({ folders, stem }) => `${folders.at(-1)?.slice(0, 4) ?? ''} ${stem.slice(0, 6)}`.trim().toLowerCase(),
  ({ stem }, random) => withoutOne(stem.toLowerCase().slice(0, 12), random),
  ({ name }) => name.toLowerCase().replaceAll(/[-_.]/g, ''),
]

function withoutOne(text: string, random: SeededRandom): string {
  const at = 1 + random.below(Math.max(1, text.length - 1))
  return text.slice(0, at) + text.slice(at + 1)
}

function partsOf(path: string): Parts {
  const folders = path.split('/')
  const name = folders.pop() ?? path
  return { folders, name, stem: name.replace(/(?<=.)\..*$/, '') }
}
