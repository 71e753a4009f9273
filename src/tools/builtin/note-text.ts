import { truncateText } from '../../base/text.ts'
import type { Note } from '../../memory/note.ts'

/** How a note is cited, by the model and to the user. */
export function citeNote(id: string): string {
  return `[memory:${id}]`
}

/**
 * A note for a model to read: `[memory:ID] 2026-11-15 text`, tags in brackets before the text where it has any.
 * Further lines are indented, so that no note's text can pass for another note.
 */
export function renderNote(note: Note, { timeZone, limit }: { timeZone: string; limit: number }): string {
  const tags = note.tags.length > 0 ? `(tags: ${note.tags.join(', ')}) ` : ''
  const text = truncateText(note.content, limit).replaceAll(/\r\n|[\r\n\u2028\u2029]/g, '\n  ')
  return `${citeNote(note.id)} ${formatDate(note.createdAt, timeZone)} ${tags}${text}`
}

/** `2026-11-15`, as the calendar stood where the user lives. */
export function formatDate(time: number, timeZone: string): string {
  // Sweden writes dates the way ISO 8601 does.
  return new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short' }).format(time)
}
