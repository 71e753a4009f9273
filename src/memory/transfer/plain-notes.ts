import { timeFromText } from './record.ts'

type PlainNote = ReturnType<typeof noteOf>

interface OpenNote {
  line: number
  lines: string[]
  category: string | undefined
  /** The indentation of a list item. Lines indented more belong to it. */
  indent: number | undefined
}

const listItem = /^(\s{0,40})(?:[-*+•]|\d{1,9}[.)])\s+(.*)$/s
const maxHeadingLength = 300

/** Any Markdown or plain text as notes: each list item with its content, and each paragraph. */
export async function* readPlainNotes(lines: AsyncIterable<NumberedLine>): AsyncGenerator<PlainNote> {
  let open: OpenNote | undefined
  let category: string | undefined
  let fence: string | undefined
  let isAfterBlank = false

  for await (const { line, text } of withoutFrontMatter(lines)) {
    const mark = /^\s{0,40}(`{3,}|~{3,})/.exec(text)?.[1]
    const isInside = fence !== undefined
    if (mark && !fence) fence = mark
    else if (mark && fence && mark.startsWith(fence)) fence = undefined
    const step: Step = isInside ? { kind: 'continue' } : kindOf(text, open, isAfterBlank)
    isAfterBlank = step.kind === 'blank'
    switch (step.kind) {
      case 'blank':
        if (open?.indent === undefined) yield* ended()
        else open.lines.push('')
        break
      case 'heading':
        yield* ended()
        category = step.text
        break
      case 'rule':
        yield* ended()
        break
      case 'begin':
        yield* ended()
        open = { line, lines: [step.text], category, indent: step.indent }
        break
      case 'continue':
        if (open) open.lines.push(text)
        else open = { line, lines: [text], category, indent: undefined }
    }
  }
  yield* ended()

  function* ended(): Generator<PlainNote> {
    const note = open && noteOf(open)
    open = undefined
    if (note && note.content !== '') yield note
  }
}

const maxFrontMatterLength = 100

/** Drops front matter at the very beginning; an unclosed border is text. */
async function* withoutFrontMatter(lines: AsyncIterable<NumberedLine>): AsyncGenerator<NumberedLine> {
  let held: NumberedLine[] | undefined
  for await (const next of lines) {
    if (next.line === 1 && next.text.trimEnd() === '---') held = [next]
    else if (!held) yield next
    else if (next.text.trimEnd() === '---') held = undefined
    else if (held.push(next) > maxFrontMatterLength) {
      yield* held
      held = undefined
    }
  }
  if (held) yield* held
}

type Step =
  | { kind: 'blank' | 'rule' | 'continue' }
  | { kind: 'heading'; text: string }
  | { kind: 'begin'; text: string; indent: number | undefined }

function kindOf(text: string, open: OpenNote | undefined, isAfterBlank: boolean): Step {
  if (text.trim() === '') return { kind: 'blank' }
  const heading = text.length <= maxHeadingLength ? /^#{1,6}\s+(\S.*)$/s.exec(text)?.[1] : undefined
  if (heading !== undefined) return { kind: 'heading', text: heading.replace(/\s#+\s*$/, '') }
  if (isRule(text)) return { kind: 'rule' }
  const [, space, said] = listItem.exec(text) ?? []
  const indent = text.length - text.trimStart().length
  const isFurtherIn = open?.indent !== undefined && indent > open.indent + 1
  if (space !== undefined && said !== undefined) {
    return isFurtherIn
      ? { kind: 'continue' }
      : { kind: 'begin', text: said.replace(/^\[[ xX]\]\s+/, ''), indent: space.length }
  }
  if (open && (!isAfterBlank || isFurtherIn)) return { kind: 'continue' }
  return { kind: 'begin', text, indent: undefined }
}

/** Three or more of one character: a rule, an underline, the border of front matter. */
function isRule(text: string): boolean {
  const line = text.trim()
  return line.length >= 3 && '-*_='.includes(line.charAt(0)) && line === line.charAt(0).repeat(line.length)
}

/** A note from a list kept elsewhere, verbatim. `at` is the day that it begins with, `category` its heading. */
function noteOf({ line, lines, category }: OpenNote) {
  const content = lines.join('\n').trim()
  const day = /^\d{4}-\d\d-\d\d(?!\d)/.exec(content)?.[0]
  return { line, content, category, at: day === undefined ? undefined : timeFromText(day) }
}

/** A line of an imported file, counted from 1. */
export interface NumberedLine {
  line: number
  text: string
}

/** The content of a line (or several, from this one on), before validation; or why it has none. */
export type FoundRecord = { line: number; value: unknown } | { line: number; problem: string }

/** Numbers the lines. A trailing carriage return and a byte order mark belong to the file, not to the text. */
export async function* numberLines(
  lines: AsyncIterable<string> | Iterable<string>,
  signal?: AbortSignal,
): AsyncGenerator<NumberedLine> {
  let line = 0
  for await (const text of lines) {
    signal?.throwIfAborted()
    line += 1
    const start = line === 1 && text.startsWith('\ufeff') ? 1 : 0
    yield { line, text: text.slice(start, text.endsWith('\r') ? -1 : undefined) }
  }
}

/** A memory has at most a million characters, each of which can take six in JSON. */
const maxLineLength = 16_000_000

/** The lines of a byte stream. Only the beginning of an oversized line is kept. */
export async function* splitLines(chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let parts: string[] = []
  let length = 0
  const keep = (part: string) => {
    if (length < maxLineLength) parts.push(part.slice(0, maxLineLength - length))
    length += part.length
  }
  const take = () => {
    const text = parts.join('')
    parts = []
    length = 0
    return text
  }
  for await (const chunk of chunks) {
    const [first = '', ...others] = decoder.decode(chunk, { stream: true }).split('\n')
    keep(first)
    for (const next of others) {
      yield take()
      keep(next)
    }
  }
  keep(decoder.decode())
  if (length > 0) yield take()
}
