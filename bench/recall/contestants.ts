import type { DatabaseSync } from 'node:sqlite'
import { contentWords } from '../../src/memory/words.ts'

/** FTS5 with porter stems, all words OR-ed: the plainest thing that works. `fts` is a table of the bench's own. */
export function fillPlainText(raw: DatabaseSync, docs: readonly { id: string; space: string; text: string }[]): void {
  raw.exec(`create virtual table plain using fts5(id unindexed, space unindexed, text, tokenize = 'porter unicode61')`)
  const insert = raw.prepare('insert into plain (id, space, text) values (?, ?, ?)')
  raw.exec('begin')
  for (const { id, space, text } of docs) insert.run(id, space, text)
  raw.exec('commit')
}

export function askPlainText(raw: DatabaseSync, space: string, text: string, limit: number): string[] {
  const words = text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []
  if (words.length === 0) return []
  const match = [...new Set(words)].map((word) => `"${word}"`).join(' OR ')
  const rows = raw
    .prepare('select id from plain where plain match ? and space = ? order by rank limit ?')
    .all(match, space, limit)
  return rows.map((row) => String(row.id))
}

/** Priority, 0.2 for each keyword that the content holds as a substring, up to 0.2 for the last day; no tags here. */
export function askClassic(docs: readonly { id: string; text: string }[], text: string, limit: number): string[] {
  const keywords = contentWords(text)
  return docs
    .map(({ id, text: content }, index) => {
      const folded = content.toLowerCase()
      const score = 0.8 + keywords.filter((keyword) => folded.includes(keyword)).length * 0.2
      return { id, score, index }
    })
    .sort((a, b) => b.score - a.score || a.index - b.index)
    .slice(0, limit)
    .map(({ id }) => id)
}
