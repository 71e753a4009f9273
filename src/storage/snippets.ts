import { foldLetters, isUnspaced, porterStem, toQueryWords, toSearchable, toTokens, wordBeingTyped } from './words.ts'

/** Part of a text, from `start` up to `end`. */
type Mark = [start: number, end: number]

export interface Snippet {
  /** One line, with an ellipsis where something was left out. */
  text: string
  /** The places that match, in order and apart. */
  marks: Mark[]
}

export type FindMarks = (text: string) => Mark[]

const wordShape = /[\p{L}\p{N}\p{M}]+/gu

/** Finds the words of a query in a text as the full-text index does: by stem, without accents, the last by its beginning. */
export function createMatcher(query: string, { isTyping = false }: { isTyping?: boolean } = {}): FindMarks {
  const words = toQueryWords(query)
  const typed = isTyping ? wordBeingTyped(query) : undefined
  const beginning = typed === undefined ? undefined : porterStem(toTokens(typed).tokens[0] ?? typed)
  const stems = new Set(words.filter((word) => !isUnspaced(word)).flatMap((word) => toTokens(word).tokens))
  const runs = (query.match(wordShape) ?? []).filter(isUnspaced)
  // The words of such a script are searched by pairs of letters, so a text may contain them without the whole run.
  const pieces = [...new Set([...runs, ...runs.flatMap(toSearchable).filter(isUnspaced)])]

  function isMatch(word: string): boolean {
    return toTokens(foldLetters(word)).tokens.some(
      (token) => stems.has(token) || (beginning && token.startsWith(beginning)),
    )
  }

  return (text) => {
    const marks: Mark[] = []
    for (const { 0: word, index } of text.matchAll(wordShape)) {
      if (stems.size > 0 && !isUnspaced(word) && isMatch(word)) marks.push([index, index + word.length])
    }
    for (const piece of pieces) {
      for (let at = text.indexOf(piece); at >= 0; at = text.indexOf(piece, at + piece.length)) {
        marks.push([at, at + piece.length])
      }
    }
    return merged(marks)
  }
}

/** Whether a text contains every word of a query. */
export function hasEveryWord(
  query: string,
  { isTyping = false }: { isTyping?: boolean } = {},
): (text: string) => boolean {
  const words = toQueryWords(query)
  const typed = isTyping ? wordBeingTyped(query) : undefined
  const finders = words.map((word) => createMatcher(word, { isTyping: word === typed }))
  return (text) => finders.length > 0 && finders.every((find) => find(text).length > 0)
}

function merged(marks: readonly Mark[]): Mark[] {
  const apart: [number, number][] = []
  for (const [start, end] of marks.toSorted((one, other) => one[0] - other[0])) {
    const last = apart.at(-1)
    if (last && start <= last[1]) last[1] = Math.max(last[1], end)
    else apart.push([start, end])
  }
  return apart
}

const usualLength = 160
const before = 40

/** The part of a text around its first match. Without a match, the beginning. */
export function snippetOf(text: string, find: FindMarks, length = usualLength): Snippet {
  const line = oneLine(text)
  const all = find(line)
  const first = densest(all, length)
  const start = first < before ? 0 : startOfWord(line, first - before)
  const end = line.length - start <= length ? line.length : endOfWord(line, start + length)
  const [head, tail] = [start > 0 ? '…' : '', end < line.length ? '…' : '']
  const shown = line.slice(start, end)
  const shift = head.length - start
  const marks = all
    .filter(([from, to]) => to > start && from < end)
    .map(([from, to]): Mark => [Math.max(from, start) + shift, Math.min(to, end) + shift])
  return { text: `${head}${shown}${tail}`, marks }
}

/** The distinct forms in which the words of a query occur in a text, in lower case, for highlighting them elsewhere. */
export function formsIn(text: string, find: FindMarks, most = 12): string[] {
  const forms = new Set<string>()
  for (const [start, end] of find(text)) {
    forms.add(text.slice(start, end).toLowerCase())
    if (forms.size === most) break
  }
  return [...forms]
}

/** The start of the first mark of the window that has most of them. */
function densest(marks: readonly Mark[], length: number): number {
  let best = marks[0]?.[0] ?? 0
  let most = 0
  for (const [at, [start]] of marks.entries()) {
    let count = 0
    for (let next = at; next < marks.length && (marks[next]?.[1] ?? 0) <= start + length - before; next += 1) count += 1
    if (count > most) [most, best] = [count, start]
  }
  return best
}

/** Without marks of Markdown, which only disturb in a list. */
function oneLine(text: string): string {
  return text
    .replaceAll(/\s*\[memory:[0-9a-f-]+\]/g, '')
    .replaceAll(/\*\*|__|`|^(?:#{1,6}|>) /gm, '')
    .replaceAll(/\s+/g, ' ')
    .trim()
}

const maxWordLength = 24

function startOfWord(line: string, at: number): number {
  const space = line.indexOf(' ', at)
  return space >= 0 && space - at < maxWordLength ? space + 1 : betweenLetters(line, at)
}

function endOfWord(line: string, at: number): number {
  const space = line.lastIndexOf(' ', at)
  return space >= 0 && at - space < maxWordLength ? space : betweenLetters(line, at)
}

/** Not inside a pair of code units. */
function betweenLetters(line: string, at: number): number {
  const code = line.charCodeAt(at)
  return code >= 0xdc00 && code <= 0xdfff ? at - 1 : at
}
