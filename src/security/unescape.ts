import entityNames from './entities.json' with { type: 'json' }

/** A text with its escapes undone, and the source position of each character. */
export interface UnescapedView {
  text: string
  /** Nothing was undone: it is the source itself. */
  isSource: boolean
  /** The source position of a character; with `isEnd`, the end of the previous one. */
  toSource(index: number, isEnd: boolean): number
  /** The reverse: the character at a source position. */
  fromSource(place: number): number
}

interface Escape {
  length: number
  meaning: string
}

// Invisible characters are treated as escapes of nothing.
const special = /[\\%&\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]/g
// In the source, so is a break inside a word, as in base64.
const specialInSource = new RegExp(`${special.source}|(?<=[\\w+/=-])[\\r\\n](?=\\n?[ \\t]*[\\w+/=-])`, 'g')
/** Characters that may begin another escape after being unescaped. */
const opening = new Set(['\\', '%', '&'])

/**
 * Undoes one level of escapes, of those that produce one of the wanted characters; undefined if there is none. `isLast`
 * if another level would change nothing. Never throws, and takes linear time.
 */
export function unescapeOnce(
  { text, toSource, fromSource, isSource }: UnescapedView,
  wanted: ReadonlySet<string>,
): { view: UnescapedView; isLast: boolean } | undefined {
  const parts: string[] = []
  // Pairs of positions in the plain and the escaped text where the mapping changes.
  const turns: number[] = [0, 0]
  let length = 0
  let copied = 0
  let isLast = true
  const pattern = isSource ? specialInSource : special
  pattern.lastIndex = 0
  while (pattern.test(text)) {
    const at = pattern.lastIndex - 1
    const found = escapeAt(text, at)
    if (!found || opening.has(found.meaning)) isLast = false
    if (!found) continue
    const { meaning } = found
    pattern.lastIndex = at + found.length
    if (meaning !== '' && !opening.has(meaning) && !wanted.has(meaning)) continue
    parts.push(text.slice(copied, at), meaning)
    length += at - copied
    turns.push(length, at)
    length += meaning.length
    copied = at + found.length
    turns.push(length, copied)
  }
  if (copied === 0) return undefined
  parts.push(text.slice(copied))
  const view: UnescapedView = {
    text: parts.join(''),
    isSource: false,
    toSource: (index, isEnd) => toSource(follow(turns, index, isEnd), isEnd),
    fromSource: (place) => followBack(turns, fromSource(place)),
  }
  return { view, isLast }
}

/** If several positions share one index, an escape of nothing is there: before it for an end, after it otherwise. */
function follow(turns: readonly number[], index: number, isEnd: boolean): number {
  let low = 0
  let high = turns.length / 2
  while (high - low > 1) {
    const middle = (low + high) >>> 1
    const place = turns[middle * 2] ?? 0
    if (place < index || (place === index && !isEnd)) low = middle
    else high = middle
  }
  if (isEnd && turns[high * 2] === index) return turns[high * 2 + 1] ?? 0
  return (turns[low * 2 + 1] ?? 0) + index - (turns[low * 2] ?? 0)
}

function followBack(turns: readonly number[], place: number): number {
  let low = 0
  let high = turns.length / 2
  while (high - low > 1) {
    const middle = (low + high) >>> 1
    if ((turns[middle * 2 + 1] ?? 0) <= place) low = middle
    else high = middle
  }
  const index = turns[low * 2] ?? 0
  // Odd entries begin an escape: all of it maps to its one character.
  return low % 2 === 1 ? index : index + place - (turns[low * 2 + 1] ?? 0)
}

function escapeAt(text: string, at: number): Escape | undefined {
  switch (text[at]) {
    case '\\':
      return backslashAt(text, at)
    case '%':
      return percentAt(text, at)
    case '&':
      return entityAt(text, at)
    case '\r':
    case '\n':
      return lineBreakAt(text, at)
    default:
      return { length: 1, meaning: '' }
  }
}

const controls: Record<string, string> = { n: '\n', r: '\r', t: '\t', b: '\b', f: '\f', v: '\v' }
const ofThemselves = new Set(['"', "'", '\\', '/'])

/** JSON and programming languages: `\n`, `\"`, `\u0041`, `\u{41}`, `\x41`. */
function backslashAt(text: string, at: number): Escape | undefined {
  const kind = text[at + 1] ?? ''
  if (kind === 'u' && text[at + 2] === '{') {
    const digits = countHex(text, at + 3, 6)
    return text[at + 3 + digits] === '}' ? fromCode(text.slice(at + 3, at + 3 + digits), 16, digits + 4) : undefined
  }
  const digits = kind === 'u' ? 4 : kind === 'x' ? 2 : 0
  if (digits > 0) {
    const isWhole = countHex(text, at + 2, digits) === digits
    return isWhole ? fromCode(text.slice(at + 2, at + 2 + digits), 16, digits + 2) : undefined
  }
  const meaning = controls[kind] ?? (ofThemselves.has(kind) ? kind : undefined)
  return meaning === undefined ? undefined : { length: 2, meaning }
}

/** URLs and forms: an ASCII character, all bytes of another one, or the old `%u0041`. */
function percentAt(text: string, at: number): Escape | undefined {
  if (text[at + 1] === 'u')
    return countHex(text, at + 2, 4) === 4 ? fromCode(text.slice(at + 2, at + 6), 16, 6) : undefined
  if (countHex(text, at + 1, 2) < 2) return undefined
  const first = Number.parseInt(text.slice(at + 1, at + 3), 16)
  if (first < 0x80) return { length: 3, meaning: String.fromCharCode(first) }
  const bytes = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2
  try {
    return { length: bytes * 3, meaning: decodeURIComponent(text.slice(at, at + bytes * 3)) }
  } catch {
    return undefined
  }
}

const maxNameLength = 8
/** HTML's names for keyboard characters. Letters and digits have none. */
const entities = new Map(Object.entries(entityNames))

/** HTML: `&amp;`, `&#65;`, `&#x41;`. Browsers also accept a number without its semicolon. */
function entityAt(text: string, at: number): Escape | undefined {
  if (text[at + 1] !== '#') {
    const [name = '', isEnded] = text.slice(at + 1, at + 2 + maxNameLength).split(';', 2)
    const meaning = isEnded === undefined ? undefined : entities.get(name)
    return meaning === undefined ? undefined : { length: name.length + 2, meaning }
  }
  const isHex = text[at + 2] === 'x' || text[at + 2] === 'X'
  const start = at + (isHex ? 3 : 2)
  const digits = isHex ? countHex(text, start, 10) : countHex(text, start, 10, isDigit)
  const ending = text[start + digits] === ';' ? 1 : 0
  return fromCode(text.slice(start, start + digits), isHex ? 16 : 10, start + digits + ending - at)
}

/** The line break and the indentation of the next line. */
function lineBreakAt(text: string, at: number): Escape {
  let length = text[at] === '\r' && text[at + 1] === '\n' ? 2 : 1
  while (text[at + length] === ' ' || text[at + length] === '\t') length += 1
  return { length, meaning: '' }
}

function fromCode(digits: string, base: number, length: number): Escape | undefined {
  const code = digits === '' ? Number.NaN : Number.parseInt(digits, base)
  return code <= 0x10ffff ? { length, meaning: String.fromCodePoint(code) } : undefined
}

function countHex(text: string, from: number, most: number, isCounted = isHexDigit): number {
  let count = 0
  while (count < most && isCounted(text.charCodeAt(from + count))) count += 1
  return count
}

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57
}

function isHexDigit(code: number): boolean {
  return isDigit(code) || ((code | 32) >= 97 && (code | 32) <= 102)
}

const hex = '[0-9A-Fa-f]'

/** An incomplete escape at the end of a text. */
const begunEscape = new RegExp(
  `(?:${[
    String.raw`\\(?:u(?:\{${hex}{0,6}|${hex}{0,3})?|x${hex}?)?`,
    `%(?:u${hex}{0,3}|${hex}|[C-Fc-f]${hex}(?:%[89ABab]${hex}){0,2}(?:%[89ABab]?)?)?`,
    `&(?:#(?:[0-9]{0,10}|[xX]${hex}{0,10})|[A-Za-z]{1,8})?`,
    String.raw`(?:\r|\r?\n[ \t]*)`,
  ].join('|')})$`,
)
const maxEscapeLength = 24

/** The end of the text except for an incomplete escape, which the following text may complete. */
export function endOfWholeEscapes(text: string): number {
  const from = Math.max(0, text.length - maxEscapeLength)
  const begun = begunEscape.exec(text.slice(from))
  if (!begun) return text.length
  const start = from + begun.index
  let backslashes = 0
  while (text[start - backslashes] === '\\') backslashes += 1
  // An even number: the last is the second of a pair.
  return backslashes > 0 && backslashes % 2 === 0 ? text.length : start
}
