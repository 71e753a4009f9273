import type { TextFormat } from './walk-files.ts'

/** A part of a text that can be read by itself. */
export interface Passage {
  text: string
  /** Its headings, outermost first. Empty before the first. */
  headings: readonly string[]
  /** Counted from 1, both included. */
  firstLine: number
  lastLine: number
}

const target = 800
const most = 1_200
/** A shorter passage is joined with the next one. */
const stub = 200

interface Part extends Span {
  firstLine: number
  lastLine: number
}

/**
 * Splits a text into passages of about 800 characters and at most 1,200: at headings, blank lines, list items, ends of
 * sentences. Each is a slice of the text with its lines; together they contain every nonblank line once and in order.
 * Only a line longer than a passage is split itself.
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

  /** A heading starts a passage, but one directly below a higher one shares its passage. */
  function enter(heading: { level: number; text: string }): void {
    if (!onlyHeadings || heading.level <= (path.at(-1)?.level ?? 0)) flush()
    while ((path.at(-1)?.level ?? 0) >= heading.level) path.pop()
    path.push(heading)
  }

  function add(part: Part): void {
    const length = open ? part.end - open.start : 0
    const fits = length <= target || (length <= most && (onlyHeadings || (open && open.end - open.start < stub)))
    if (open && !fits) flush()
    const headings = path.map(({ text }) => text)
    open = { ...part, ...(open && { start: open.start, firstLine: open.firstLine }), headings }
  }

  function flush(): void {
    if (!open) return
    const { start, end, ...passage } = open
    passages.push({ text: text.slice(start, end), ...passage })
    open = undefined
  }

  /** The whole block if it fits, otherwise its best parts. */
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
    return [...cutLine(line)].map((span) => ({ start: start + span.start, end: start + span.end, ...at }))
  }

  /** Lines of one block joined up to the end of a sentence, within the usual length. */
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

function startsOf(lines: readonly string[]): number[] {
  let start = 0
  return lines.map((line) => {
    const at = start
    start += line.length + 1
    return at
  })
}

interface Span {
  start: number
  end: number
}

/**
 * Splits a line that is too long: after a sentence if there is one near `target`, otherwise between words, otherwise
 * anywhere but inside a character. Only white space is lost.
 */
function* cutLine(line: string): Generator<Span> {
  let start = skipSpace(line, 0)
  while (start < line.length) {
    const end = line.length - start <= most ? line.length : cutAt(line, start)
    const next = skipSpace(line, end)
    yield { start, end: next === line.length ? line.trimEnd().length : end }
    start = next
  }
}

function cutAt(line: string, start: number): number {
  const [least, usual, latest] = [start + Math.floor(target / 2), start + target, start + most]
  for (const [from, downTo, isEnd] of [
    [usual, least, isSentenceEnd],
    [latest, usual, isSentenceEnd],
    [usual, least, isSpaceAt],
  ] as const) {
    for (let index = from; index > downTo; index -= 1) if (isEnd(line, index)) return index
  }
  return offSurrogate(line, usual)
}

const closing = '"\'”’»)]'

function isSentenceEnd(line: string, index: number): boolean {
  if ('。！？'.includes(line.charAt(index - 1))) return true
  if (!isSpaceAt(line, index)) return false
  const before = closing.includes(line.charAt(index - 1)) ? index - 2 : index - 1
  return '.!?…'.includes(line.charAt(before))
}

function isSpaceAt(line: string, index: number): boolean {
  return /\s/.test(line.charAt(index))
}

function offSurrogate(line: string, index: number): number {
  const code = line.charCodeAt(index)
  return code >= 0xdc00 && code <= 0xdfff ? index - 1 : index
}

function skipSpace(line: string, index: number): number {
  while (index < line.length && isSpaceAt(line, index)) index += 1
  return index
}

interface Heading {
  /** 1 for the highest. Only the order matters. */
  level: number
  text: string
  lines: number
}

type FindHeading = (lines: readonly string[], index: number) => Heading | undefined

// A line can be megabytes long; a heading is not.
const maxHeadingLength = 300

const marks: Record<TextFormat, RegExp | undefined> = {
  markdown: /^ {0,3}(#{1,6})[ \t]+(\S.*)/,
  asciidoc: /^(={1,6})[ \t]+(\S.*)/,
  org: /^(\*{1,20})[ \t]+(\S.*)/,
  restructured: undefined,
}

/** Finds headings. One per text: in some formats the level of an underline depends on earlier ones. */
function createHeadingFinder(format: TextFormat): FindHeading {
  if (format === 'restructured') return createUnderlinedFinder()
  return (lines, index) =>
    markedHeading(lines[index], format) ?? (format === 'markdown' ? underlined(lines, index, '=-') : undefined)
}

/** A heading marked by its own line: it also ends a paragraph without a blank line. */
function markedHeading(line: string | undefined, format: TextFormat): Heading | undefined {
  if (line === undefined || line.length > maxHeadingLength) return undefined
  const [, signs, text] = marks[format]?.exec(line) ?? []
  if (signs === undefined || text === undefined) return undefined
  return { level: signs.length, text: text.replace(/\s#+\s*$/, '').trim(), lines: 1 }
}

function underlined(lines: readonly string[], index: number, marks: string): Heading | undefined {
  const text = lines[index]
  const mark = underline(lines[index + 1])
  if (!text || text.length > maxHeadingLength || text.trim() === '' || !mark || !marks.includes(mark)) return undefined
  if (underline(text) || /^\s*(?:[-*+>|]|\d{1,9}[.)])/.test(text)) return undefined
  return { level: marks.indexOf(mark) + 1, text: text.trim(), lines: 2 }
}

/** reStructuredText: any character may underline, with or without a line above; each new style is one level deeper. */
function createUnderlinedFinder(): FindHeading {
  const styles: string[] = []
  return (lines, index) => {
    const above = underline(lines[index])
    const heading = underlined(lines, above ? index + 1 : index, restructuredMarks)
    const mark = underline(lines[index + (above ? 2 : 1)])
    if (!heading || (above && above !== mark)) return undefined
    const style = above ? `${mark}${mark}` : `${mark}`
    if (!styles.includes(style)) styles.push(style)
    return { level: styles.indexOf(style) + 1, text: heading.text, lines: above ? 3 : 2 }
  }
}

const restructuredMarks = '=-`:.\'"~^_*+#<>'

/** The character, if the line consists of at least three of it. */
function underline(line: string | undefined): string | undefined {
  if (line === undefined || line.length > maxHeadingLength) return undefined
  const trimmed = line.trimEnd()
  const mark = trimmed[0]
  return mark !== undefined && trimmed.length >= 3 && trimmed === mark.repeat(trimmed.length) ? mark : undefined
}

/** Lines that belong together, counted from 0, inclusive. */
interface Block {
  kind: 'heading' | 'verbatim' | 'prose'
  first: number
  last: number
  heading?: Heading
}

/** The blocks of a text in order: headings, code and front matter, list items, paragraphs, separated by blank lines. */
function* findBlocks(lines: readonly string[], format: TextFormat): Generator<Block> {
  const headingAt = createHeadingFinder(format)
  let index = 0
  const frontMatter = endOfFrontMatter(lines)
  if (frontMatter !== undefined) {
    yield { kind: 'verbatim', first: 0, last: frontMatter }
    index = frontMatter + 1
  }
  while (index < lines.length) {
    if (isBlank(lines[index])) {
      index += 1
      continue
    }
    const block = blockAt(index)
    yield block
    index = block.last + 1
  }

  function blockAt(first: number): Block {
    const fence = fenceOf(lines[first])
    if (fence) return { kind: 'verbatim', first, last: endOfFence(lines, first, fence) }
    const heading = headingAt(lines, first)
    if (heading) return { kind: 'heading', first, last: first + heading.lines - 1, heading }
    let last = first
    while (last + 1 < lines.length && continues(last + 1)) last += 1
    return { kind: 'prose', first, last }
  }

  function continues(index: number): boolean {
    const line = lines[index]
    return !isBlank(line) && !isListItem(line) && !fenceOf(line) && !markedHeading(line, format)
  }
}

function isBlank(line: string | undefined): boolean {
  return line === undefined || line.trim() === ''
}

function isListItem(line: string | undefined): boolean {
  return line !== undefined && /^\s{0,40}(?:[-*+•]|\d{1,9}[.)])\s/.test(line)
}

const maxFrontMatterLength = 200

function endOfFrontMatter(lines: readonly string[]): number | undefined {
  if (lines[0]?.trimEnd() !== '---') return undefined
  const end = lines.slice(1, maxFrontMatterLength).findIndex((line) => /^(?:---|\.\.\.)\s*$/.test(line))
  return end < 0 ? undefined : end + 1
}

function fenceOf(line: string | undefined): string | undefined {
  return line === undefined ? undefined : /^\s{0,40}(`{3,}(?=[^`]*$)|~{3,})/.exec(line)?.[1]
}

/** An unclosed fence extends to the end of the text. */
function endOfFence(lines: readonly string[], first: number, fence: string): number {
  for (let index = first + 1; index < lines.length; index += 1) {
    const line = lines[index]?.trim() ?? ''
    if (line.length >= fence.length && line === fence.charAt(0).repeat(line.length)) return index
  }
  return lines.length - 1
}
