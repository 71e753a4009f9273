import { findLiteralSpans } from './find-literal-spans.ts'

export interface Reference {
  kind: 'file' | 'block'
  /** As the stores are asked for it: without quotes, escapes and trailing punctuation. */
  path: string
  /** Where it stands in the text, `@` and quotes included. */
  start: number
  end: number
}

const mostCharacters = 1_024
// Whatever else stands before an `@` makes it part of a word: an e-mail address, a URL, `file=@x`, `\@x`.
const mayPrecede = /[\s([{<,;:>*«„“‘‚‹–—（【《「、。，：；]/u
const quotes: Readonly<Record<string, string>> = { '"': '"', "'": "'", '“': '”' }
const unquoted = /(?:\\ |[,;](?!@)|[^\s"`<>|,;])+/uy
const foreignUri = /^(?!familiar:|ikigai:)[a-z][a-z0-9+.-]*:\/\//i
const ownScheme = /^(?:familiar|ikigai):\/+/i

/** Every `@path` and `@@path` of a text, in their order. Whether anything is there is for others to say. */
export function findReferences(text: string): Reference[] {
  if (!text.includes('@')) return []
  const literal = findLiteralSpans(text)
  const references: Reference[] = []
  let span = 0
  for (let at = text.indexOf('@'); at >= 0; ) {
    while ((literal[span]?.end ?? Number.POSITIVE_INFINITY) <= at) span += 1
    const inside = literal[span]
    if (inside && inside.start <= at) {
      at = text.indexOf('@', inside.end)
      continue
    }
    const signs = countSigns(text, at)
    const found = signs <= 2 && opens(text, at) ? readPath(text, at + signs) : undefined
    if (found?.path) references.push(toReference(signs, { ...found, path: found.path, start: at }))
    at = text.indexOf('@', found?.end ?? at + signs)
  }
  return references
}

function toReference(signs: number, found: { path: string; start: number; end: number }): Reference {
  if (signs === 1) return { kind: 'file', ...found }
  return { kind: 'block', ...found, path: found.path.replace(ownScheme, '') }
}

function countSigns(text: string, at: number): number {
  let end = at
  while (text[end] === '@') end += 1
  return end - at
}

function opens(text: string, at: number): boolean {
  const before = text[at - 1]
  if (before === undefined || mayPrecede.test(before)) return true
  // `"@notes.md"` is quoted; `"max m"@example.org` is an address.
  const further = text[at - 2]
  return (before === '"' || before === "'") && (further === undefined || mayPrecede.test(further))
}

/** The path from here on, and where to look on; an absent path: these words are none. */
function readPath(text: string, from: number): { path?: string; end: number } {
  const closing = quotes[text[from] ?? '']
  if (closing !== undefined) {
    const line = text.slice(from + 1, from + 2 + mostCharacters)
    const length = line.indexOf(closing)
    const path = line.slice(0, Math.max(0, length))
    return isPath(path) && !path.includes('\n') ? { path, end: from + length + 2 } : { end: from + 1 }
  }
  unquoted.lastIndex = from
  const raw = unquoted.exec(text)?.[0] ?? ''
  if (raw.length > mostCharacters) return { end: from + raw.length }
  const kept = withoutTrailing(raw)
  const path = kept.replaceAll('\\ ', ' ')
  return isPath(path) ? { path, end: from + kept.length } : { end: from + raw.length }
}

function isPath(path: string): boolean {
  return /[\p{L}\p{N}]/u.test(path) && !foreignUri.test(path)
}

const trailing = new Set(".,;:!?…'’”»*~\\。，、；：！？")
const openingOf = new Map([
  [')', '('],
  [']', '['],
  ['}', '{'],
  ['）', '（'],
  ['】', '【'],
  ['》', '《'],
  ['」', '「'],
])

/** A sentence goes on behind a path: its punctuation, a closing bracket that the path does not open, an `’s`. */
function withoutTrailing(raw: string): string {
  const open = new Map<string, number>()
  for (const [closing, opening] of openingOf) {
    if (raw.includes(closing)) open.set(closing, raw.split(closing).length - raw.split(opening).length)
  }
  let end = raw.length
  for (;;) {
    const last = raw[end - 1] ?? ''
    const surplus = open.get(last) ?? 0
    if (trailing.has(last)) end -= 1
    else if (last === 's' && /['’]/.test(raw[end - 2] ?? '')) end -= 2
    else if (surplus > 0) {
      open.set(last, surplus - 1)
      end -= 1
    } else return raw.slice(0, end)
  }
}
