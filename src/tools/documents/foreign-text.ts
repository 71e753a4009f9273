import { toDisplayText } from '../../base/text.ts'

// Tag characters and variation selectors: invisible to people, but readable for a model.
const invisible = /[\u{e0000}-\u{e01ef}]/gu

/** Untrusted text, without anything that could control a terminal or hide words from the user. */
export function cleanForeignText(text: string): string {
  return toDisplayText(text.toWellFormed()).replace(invisible, '')
}

/** The same in one line, at most `limit` characters. */
export function foreignLine(text: string, limit: number): string {
  const line = cleanForeignText(text).replaceAll(/\s+/g, ' ').trim()
  return line.length > limit
    ? `${line
        .slice(0, limit)
        .toWellFormed()
        .replace(/\ufffd$/, '')} …`
    : line
}

/** One page of a long text from `offset` on, with a note about the rest. */
export function pageOf(text: string, offset: number, limit: number): string {
  const end = offset + limit
  const page = text.slice(offset, end).toWellFormed()
  return end >= text.length ? page : `${page}\n[${text.length - end} more characters: offset ${end}]`
}
