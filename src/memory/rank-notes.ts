import type { TextMatch } from '../storage/text-search.ts'
import type { Note } from './note.ts'

export interface RecalledNote {
  note: Note
  /** 1 is the best match of words; recency adds at most 0.05. Comparable only inside one answer. */
  score: number
}

const recencyWeight = 0.05
const dayMs = 24 * 60 * 60 * 1_000
const halfLifeDays = 30

/** Matches in order of their words; between near-equals the newer one, so that a correction comes before the mistake. */
export function rankNotes(found: {
  matches: readonly TextMatch[]
  notes: readonly Note[]
  now: number
}): RecalledNote[] {
  const best = Math.max(...found.matches.map((match) => match.score))
  const byId = new Map(found.notes.map((note) => [note.id, note]))
  return found.matches
    .flatMap((match) => {
      const note = byId.get(match.id)
      if (!note) return []
      const words = best > 0 ? match.score / best : 0
      const ageDays = Math.max(0, found.now - note.createdAt) / dayMs
      return [{ note, score: words + recencyWeight * 2 ** (-ageDays / halfLifeDays) }]
    })
    .sort((a, b) => b.score - a.score || b.note.createdAt - a.note.createdAt || (a.note.id < b.note.id ? 1 : -1))
}
