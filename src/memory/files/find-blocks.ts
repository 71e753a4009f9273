import { createHeadingFinder, type Heading, markedHeading } from './find-heading.ts'
import type { TextFormat } from './text-format.ts'

/** Lines that belong together, counted from 0, both ends included. */
export interface Block {
  kind: 'heading' | 'verbatim' | 'prose'
  first: number
  last: number
  /** Set for a heading. */
  heading?: Heading
}

/** The blocks of a text in order: headings, code and front matter, list items, paragraphs. Only blank lines lie between. */
export function* findBlocks(lines: readonly string[], format: TextFormat): Generator<Block> {
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

export function isBlank(line: string | undefined): boolean {
  return line === undefined || line.trim() === ''
}

function isListItem(line: string | undefined): boolean {
  return line !== undefined && /^\s{0,40}(?:[-*+•]|\d{1,9}[.)])\s/.test(line)
}

const longestFrontMatter = 200

function endOfFrontMatter(lines: readonly string[]): number | undefined {
  if (lines[0]?.trimEnd() !== '---') return undefined
  const end = lines.slice(1, longestFrontMatter).findIndex((line) => /^(?:---|\.\.\.)\s*$/.test(line))
  return end < 0 ? undefined : end + 1
}

function fenceOf(line: string | undefined): string | undefined {
  return line === undefined ? undefined : /^\s{0,40}(`{3,}(?=[^`]*$)|~{3,})/.exec(line)?.[1]
}

/** A fence that nobody closes goes to the end of the text. */
function endOfFence(lines: readonly string[], first: number, fence: string): number {
  for (let index = first + 1; index < lines.length; index += 1) {
    const line = lines[index]?.trim() ?? ''
    if (line.length >= fence.length && line === fence.charAt(0).repeat(line.length)) return index
  }
  return lines.length - 1
}
