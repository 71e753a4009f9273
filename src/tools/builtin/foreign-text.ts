import { toDisplayText } from '../../base/text.ts'

// Tag characters and the variation selectors beside them: nobody sees them, and a model reads them as words.
const invisible = /[\u{e0000}-\u{e01ef}]/gu

/** Text of anybody, without what could drive a terminal or hide words from the user's eyes. */
export function cleanForeignText(text: string): string {
  return toDisplayText(text.toWellFormed()).replace(invisible, '')
}

/** The same on one line, at most `limit` characters. */
export function foreignLine(text: string, limit: number): string {
  const line = cleanForeignText(text).replaceAll(/\s+/g, ' ').trim()
  return line.length > limit
    ? `${line
        .slice(0, limit)
        .toWellFormed()
        .replace(/\ufffd$/, '')} …`
    : line
}

/** One page of a long text that begins at `offset`, with a note of what follows it and how to reach that. */
export function pageOf(text: string, offset: number, limit: number): string {
  const end = offset + limit
  const page = text.slice(offset, end).toWellFormed()
  return end >= text.length ? page : `${page}\n[${text.length - end} more characters: offset ${end}]`
}
