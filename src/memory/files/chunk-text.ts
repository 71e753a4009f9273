import { cutLine, type Span } from './cut-line.ts'
import { type Block, findBlocks, isBlank } from './find-blocks.ts'
import type { TextFormat } from './text-format.ts'

/** A stretch of a text that can be read by itself. */
export interface Passage {
  text: string
  /** The headings that it stands under, outermost first. Empty before the first. */
  headings: readonly string[]
  /** Counted from 1, both included. */
  firstLine: number
  lastLine: number
}

const target = 800
const most = 1_200
/** What is shorter is rather joined with what follows than left alone. */
const stub = 200

interface Part extends Span {
  firstLine: number
  lastLine: number
}

/**
 * Cuts a text into passages of about 800 characters and never more than 1,200: at headings, blank lines, list items,
 * ends of sentences. Each is a slice of the text with its lines; together they hold every line that is not blank, once
 * and in order. Only a line that is longer than a passage is cut itself.
 */
export function chunkText(source: string, format: TextFormat = 'markdown'): Passage[] {
  const text = source.replaceAll(/\r\n?/g, '\n')
  const lines = text.split('\n')
  const starts = startsOf(lines)
  const passages: Passage[] = []
  const path: { level: number; text: string }[] = []
  let open: (Part & { headings: string[] }) | undefined
  let onlyHeadings = false

  for (const block of findBlocks(lines, format)) {
    if (block.heading) enter(block.heading)
    for (const part of partsOf(block)) {
      add(part)
      onlyHeadings = block.heading !== undefined
    }
  }
  flush()
  return passages

  /** A heading begins a passage, but one that stands right under a higher one shares its passage. */
  function enter(heading: { level: number; text: string }): void {
    if (!onlyHeadings || heading.level <= (path.at(-1)?.level ?? 0)) flush()
    while ((path.at(-1)?.level ?? 0) >= heading.level) path.pop()
    path.push(heading)
  }

  function add(part: Part): void {
    const length = open ? part.end - open.start : 0
    const fits = length <= target || (length <= most && (onlyHeadings || (open && open.end - open.start < stub)))
    if (open && !fits) flush()
    open = { ...part, ...(open && { start: open.start, firstLine: open.firstLine }), headings: path.map(textOf) }
  }

  function flush(): void {
    if (!open) return
    const { start, end, ...passage } = open
    passages.push({ text: text.slice(start, end), ...passage })
    open = undefined
  }

  /** The block as a whole where it fits, otherwise what it is best cut into. */
  function partsOf({ first, last, kind }: Block): Part[] {
    const whole = partOf(first, last)
    if (whole.end - whole.start <= most) return [whole]
    return kind === 'prose' ? sentences(first, last) : linesBetween(first, last)
  }

  function partOf(first: number, last: number): Part {
    const end = (starts[last] ?? 0) + (lines[last]?.length ?? 0)
    return { start: starts[first] ?? 0, end, firstLine: first + 1, lastLine: last + 1 }
  }

  function linesBetween(first: number, last: number): Part[] {
    const parts: Part[] = []
    for (let index = first; index <= last; index += 1) if (!isBlank(lines[index])) parts.push(...piecesOf(index))
    return parts
  }

  function piecesOf(index: number): Part[] {
    const line = lines[index] ?? ''
    if (line.length <= most) return [partOf(index, index)]
    const start = starts[index] ?? 0
    const at = { firstLine: index + 1, lastLine: index + 1 }
    return [...cutLine(line, { target, most })].map((span) => ({
      start: start + span.start,
      end: start + span.end,
      ...at,
    }))
  }

  /** Lines of one block joined up to the end of a sentence, as long as they stay under the usual length. */
  function sentences(first: number, last: number): Part[] {
    const parts: Part[] = []
    let isOpen = false
    for (const part of linesBetween(first, last)) {
      const before = parts.at(-1)
      if (before && isOpen && part.end - before.start <= target) {
        before.end = part.end
        before.lastLine = part.lastLine
      } else parts.push(part)
      isOpen = !/[.!?…:;。！？]["'”’»)\]]?$/.test(text.slice(part.start, part.end).trimEnd().slice(-2))
    }
    return parts
  }
}

const textOf = ({ text }: { text: string }): string => text

function startsOf(lines: readonly string[]): number[] {
  let start = 0
  return lines.map((line) => {
    const at = start
    start += line.length + 1
    return at
  })
}
