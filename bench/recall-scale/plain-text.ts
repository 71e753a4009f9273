import type { DatabaseSync } from 'node:sqlite'
import { contentWords } from '../../src/memory/words.ts'

/** Plain FTS5 over the same index: the ids of the best matches. */
export function createPlainText(raw: DatabaseSync): (text: string, limit: number) => unknown[] {
  const search = raw.prepare(`
    select text_entries.id as id
    from (
      select rowid as number, bm25(text_index) as badness from text_index
      where text_index match ? order by badness limit ?
    ) as best
    join text_entries on text_entries.number = best.number order by best.badness`)
  return (text, limit) => {
    const words = contentWords(text).map((word) => `"${word}"`)
    if (words.length === 0) return []
    return search.all(`text : (${words.join(' OR ')})`, limit).map(({ id }) => id)
  }
}
