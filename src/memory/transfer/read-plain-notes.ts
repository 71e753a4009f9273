import type { NumberedLine } from './numbered-line.ts'
import { timeFromText } from './time-text.ts'

/** A note from a list that somebody kept elsewhere, word for word. */
export interface PlainNote {
  line: number
  content: string
  /** The heading that it stands under. */
  category: string | undefined
  /** The day that it begins with, where it does. */
  at: number | undefined
}

interface OpenNote {
  line: number
  lines: string[]
  category: string | undefined
  /** Of a list item: how far it is indented. Lines further in belong to it. */
  indent: number | undefined
}

const listItem = /^(\s{0,40})(?:[-*+•]|\d{1,9}[.)])\s+(.*)$/s
const longestHeading = 300

/** Any Markdown or plain text as notes: each list item with what is inside it, and each paragraph. */
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

const longestFrontMatter = 100

/** Drops what stands between two borders at the very beginning; a border that nothing closes was none. */
async function* withoutFrontMatter(lines: AsyncIterable<NumberedLine>): AsyncGenerator<NumberedLine> {
  let held: NumberedLine[] | undefined
  for await (const next of lines) {
    if (next.line === 1 && next.text.trimEnd() === '---') held = [next]
    else if (!held) yield next
    else if (next.text.trimEnd() === '---') held = undefined
    else if (held.push(next) > longestFrontMatter) {
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
  const heading = text.length <= longestHeading ? /^#{1,6}\s+(\S.*)$/s.exec(text)?.[1] : undefined
  if (heading !== undefined) return { kind: 'heading', text: heading.replace(/\s#+\s*$/, '') }
  if (isRule(text)) return { kind: 'rule' }
  const [, space, said] = listItem.exec(text) ?? []
  const indent = text.length - text.trimStart().length
  const isFurtherIn = open?.indent !== undefined && indent > open.indent + 1
  if (space !== undefined && said !== undefined) {
    return isFurtherIn ? { kind: 'continue' } : { kind: 'begin', text: withoutBox(said), indent: space.length }
  }
  if (open && (!isAfterBlank || isFurtherIn)) return { kind: 'continue' }
  return { kind: 'begin', text, indent: undefined }
}

/** Three or more of one sign: a line across, an underline, the border of front matter. */
function isRule(text: string): boolean {
  const line = text.trim()
  return line.length >= 3 && '-*_='.includes(line.charAt(0)) && line === line.charAt(0).repeat(line.length)
}

function withoutBox(text: string): string {
  return text.replace(/^\[[ xX]\]\s+/, '')
}

function noteOf({ line, lines, category }: OpenNote): PlainNote {
  const content = lines.join('\n').trim()
  const day = /^\d{4}-\d\d-\d\d(?!\d)/.exec(content)?.[0]
  return { line, content, category, at: day === undefined ? undefined : timeFromText(day) }
}
