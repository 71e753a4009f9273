// biome-ignore-all lint/suspicious/noControlCharactersInRegex: control characters are what this file takes out.

import type { Json } from '../protocol/messages.ts'

/**
 * Replaces lone surrogates and drops NUL, so that every store, provider and terminal accepts the text. Nothing else
 * changes.
 */
export function toStorableText(text: string): string {
  return text.toWellFormed().replaceAll('\u0000', '')
}

// C0 except tab and newline, DEL, C1, bidirectional overrides and isolates, zero-width and line separators, annotations
// and tag characters: as pairs, and as a lone first half, which a removal after it could complete.
const unsafeForDisplay =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|\udb40(?![\udc80-\udfff])[\udc00-\udc7f]?/g
// A string sequence must end on its own line. Otherwise one at the top of a file and its end at the bottom would hide
// everything in between from a reviewer.
const escapeSequence =
  /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b\n]*(?:\u0007|\u001b\\)|[PX^_][^\u001b\n]*\u001b\\|[@-_])/g
// Combining marks pile up on one letter and over adjacent lines. No script needs this many.
const tower = /(\p{M}{8})\p{M}+/gu
const maybeMarks = /[^\u0000-\u02ff]/

/**
 * Removes everything that could control or disguise a terminal, a log or a chat: escape sequences, control and bidi
 * characters.
 */
export function toDisplayText(text: string): string {
  const plain = text.replaceAll('\r\n', '\n').replace(escapeSequence, '').replace(unsafeForDisplay, '')
  return maybeMarks.test(plain) ? plain.replace(tower, '$1') : plain
}

/** The first characters, cut at a code point. */
export function cutText(text: string, limit: number): string {
  return text
    .slice(0, limit)
    .toWellFormed()
    .replace(/\ufffd$/, '')
}

/** At most `limit` characters, with a note about the rest. */
export function truncateText(text: string, limit: number): string {
  if (text.length <= limit) return text
  const kept = cutText(text, limit)
  return `${kept}\n[… ${text.length - kept.length} more characters]`
}

const wide =
  /^[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|^\p{Emoji_Presentation}|^[\u{20000}-\u{3fffd}]/u

/** Created on first use: it takes ten milliseconds, which most commands do not need. */
let segmenter: Intl.Segmenter | undefined

function segmentsOf(text: string): Intl.Segments {
  segmenter ??= new Intl.Segmenter()
  return segmenter.segment(text)
}

/** The width of the text in terminal columns. The text must be fit for display. */
export function displayWidth(text: string): number {
  if (/^[ -~]*$/.test(text)) return text.length
  let width = 0
  for (const { segment } of segmentsOf(text)) width += segmentWidth(segment)
  return width
}

/** At most `columns` wide; an ellipsis marks a cut. */
export function fitWidth(text: string, columns: number): string {
  if (displayWidth(text) <= columns) return text
  let kept = ''
  let width = 0
  for (const { segment } of segmentsOf(text)) {
    width += segmentWidth(segment)
    if (width > columns - 1) break
    kept += segment
  }
  return `${kept}…`
}

function segmentWidth(segment: string): number {
  if (/^[\p{M}\p{C}]/u.test(segment)) return 0
  return wide.test(segment) || segment.includes('\ufe0f') ? 2 : 1
}

/**
 * The lines of a byte stream that are not blank, however the bytes are split. Ends the stream when the reader stops
 * early. Not with readline, which ignores errors of its source.
 */
export async function* readLines(source: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of source) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    yield* lines.filter((line) => line.trim() !== '')
  }
  rest += decoder.decode()
  if (rest.trim() !== '') yield rest
}

/** The words of an error, whatever was thrown. */
export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** The error and the causes below it. */
export function causesOf(error: unknown): Error[] {
  const found: Error[] = []
  for (let current = error; current instanceof Error && !found.includes(current); current = current.cause) {
    found.push(current)
  }
  return found
}

/** Local time of the reader. */
export function formatTime(time: string | number): string {
  const date = new Date(time)
  const two = (value: number) => String(value).padStart(2, '0')
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`
}

export function formatDuration(milliseconds: number): string {
  const seconds = milliseconds / 1_000
  if (milliseconds < 1_000) return `${Math.round(milliseconds)} ms`
  if (seconds < 60) return `${seconds.toFixed(1)} s`
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ${Math.floor(seconds % 60)} s`
  if (seconds < 86_400) return `${Math.floor(seconds / 3_600)} h ${Math.floor((seconds % 3_600) / 60)} min`
  return `${Math.floor(seconds / 86_400)} d ${Math.floor((seconds % 86_400) / 3_600)} h`
}

export function formatCount(count: number): string {
  return count.toLocaleString('en-US')
}

export function formatBytes(bytes: number): string {
  const units = ['bytes', 'KB', 'MB', 'GB', 'TB']
  let value = bytes
  let unit = 0
  while (value >= 1_000 && unit < units.length - 1) {
    value /= 1_000
    unit += 1
  }
  return unit === 0 ? `${value} bytes` : `${value.toFixed(1)} ${units[unit]}`
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${formatCount(count)} ${count === 1 ? one : many}`
}

/** Small sums matter here: four decimal places below a hundred dollars. */
export function formatDollars(amount: number | null): string {
  if (amount === null) return 'unpriced'
  return `$${amount.toFixed(amount !== 0 && Math.abs(amount) < 100 ? 4 : 2)}`
}

/** One line of at most `limit` characters. */
export function oneLine(text: string, limit = Number.POSITIVE_INFINITY): string {
  const line = text.replace(/\s+/g, ' ').trim()
  return line.length <= limit ? line : `${cutText(line, limit - 1)}…`
}

// Control characters except tab and line ends, soft hyphen and joiners, bidirectional marks and overrides, invisible
// fillers, tags, and the variation selectors that can carry bytes.
const hidden =
  /[\p{Cc}--[\t\n\r]]|[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufffb\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]/v

/** Created on first use: reading the list of all emoji takes ten milliseconds. */
let joinedEmoji: RegExp | undefined

/** The first invisible character, as `U+202E`. Characters that join an emoji do not count. */
function findHiddenCharacter(text: string): string | undefined {
  joinedEmoji ??= /\p{RGI_Emoji}/gv
  const found = hidden.exec(text.replace(joinedEmoji, ''))?.[0].codePointAt(0)
  return found === undefined ? undefined : `U+${found.toString(16).toUpperCase().padStart(4, '0')}`
}

/** The first invisible character in the texts and keys of a value, and its path. */
export function findHiddenIn(value: Json, path: string): { path: string; character: string } | undefined {
  if (typeof value === 'string') {
    const character = findHiddenCharacter(value)
    return character === undefined ? undefined : { path, character }
  }
  if (value === null || typeof value !== 'object') return undefined
  for (const [key, inner] of Object.entries(value)) {
    const character = findHiddenCharacter(key)
    if (character !== undefined) return { path: `${path} (a key)`, character }
    const found = findHiddenIn(inner, Array.isArray(value) ? `${path}[${key}]` : `${path}.${key}`)
    if (found) return found
  }
  return undefined
}
