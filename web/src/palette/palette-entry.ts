import type { IconName } from '../components/icon.tsx'
import { fuzzyMatch } from './fuzzy.ts'

export interface PaletteEntry {
  id: string
  group: string
  label: string
  detail?: string
  icon: IconName
  /** Other words under which it is found. */
  words?: string
  run(): void
}

export interface FoundEntry extends PaletteEntry {
  /** The characters of the label that fit. */
  places: readonly number[]
}

const perGroup = 6
const inAll = 24

/** The best of each group, the groups by their best. Without a query they stay in their order. */
export function findEntries(entries: readonly PaletteEntry[], query: string): FoundEntry[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean)
  const found = entries.flatMap((entry) => {
    const match = fuzzyMatch(query, entry.label)
    if (match) return [{ ...entry, places: match.places, score: match.score }]
    return isAbout(entry, words) ? [{ ...entry, places: [], score: 0 }] : []
  })
  if (words.length > 0) found.sort((one, other) => other.score - one.score)
  const groups = Map.groupBy(found, ({ group }) => group)
  return [...groups.values()].flatMap((members) => members.slice(0, perGroup)).slice(0, inAll)
}

/** What is said of it has all the words as they are. */
function isAbout({ label, detail, words: others }: PaletteEntry, words: readonly string[]): boolean {
  const text = [label, detail, others].filter(Boolean).join(' ').toLowerCase()
  return words.every((word) => text.includes(word))
}
