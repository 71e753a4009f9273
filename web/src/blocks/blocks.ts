import type { Reply } from '../api/call.ts'

/** The address of all blocks. The rest of a path is the label. */
const root = 'familiar:///blocks/'

export function labelOfPath(path: string): string {
  return path.startsWith(root) ? path.slice(root.length) : path
}

/** The label as a command argument. */
export const addressOf = (label: string) => `${root}${label}`

/** The path of its screen. */
export const pathOfLabel = (label: string) => `/blocks/${encodeURIComponent(label)}`

/** The pins with one of them at another place, counted from 1. */
export function movePin(pinned: Reply<'pins.list'>, label: string, position: number): Reply<'pins.list'> {
  const moved = pinned.pins.find((pin) => pin.label === label)
  if (!moved) return pinned
  const others = pinned.pins.filter((pin) => pin.label !== label)
  const pins = others.toSpliced(position - 1, 0, moved).map((pin, index) => ({ ...pin, position: index + 1 }))
  return { ...pinned, pins }
}

/** A proposal of `/compact`: `familiar:///blocks/x.md, how.` and both texts, each under a line with its size. */
interface CompactProposal {
  /** How it came about. */
  means: string
  beforeTokens: string
  after: string
  afterTokens: string
}

/** Undefined where the words are others: then they are shown as they are. */
export function readProposal(question: string, before: string): CompactProposal | undefined {
  const first = /^([^\n]+)\nBefore \(([^\n]*?) tokens by [^\n]*\):\n/.exec(question)
  const last = question.lastIndexOf('\nReplace it? [')
  if (!first || last < 0) return undefined
  // The old text may contain the words of the frame around it: its known length says where it ends.
  const rest = question.slice(first[0].length, last)
  const shared = rest.startsWith(before) ? before.length : 0
  const heading = /\nAfter \(([^\n]*?) tokens\):\n/g
  heading.lastIndex = shared
  const found = heading.exec(rest)
  if (!found) return undefined
  return {
    means: (first[1] ?? '').replace(/^familiar:\/\/\/blocks\/[^,]*, /, '').replace(/\.$/, ''),
    beforeTokens: first[2] ?? '',
    after: rest.slice(found.index + found[0].length),
    afterTokens: found[1] ?? '',
  }
}

type DiffLine = { kind: 'same' | 'added' | 'removed'; text: string }
/** Lines that are shown, or a run of the same that is not. */
export type DiffRow = DiffLine | { kind: 'left_out'; count: number }

/** Comparing takes the product of what differs; beyond this it would be felt. */
const maxCompared = 4_000_000

/** The changes between two texts, line by line: removed lines first, then the added ones. */
export function diffLines(before: string, after: string): DiffLine[] {
  const old = linesOf(before)
  const next = linesOf(after)
  let start = 0
  while (start < old.length && start < next.length && old[start] === next[start]) start += 1
  let end = 0
  while (end < old.length - start && end < next.length - start && old.at(-1 - end) === next.at(-1 - end)) end += 1
  return [
    ...as('same', old.slice(0, start)),
    ...between(old.slice(start, old.length - end), next.slice(start, next.length - end)),
    ...as('same', old.slice(old.length - end)),
  ]
}

/** The changes with some lines around them. */
export function withContext(lines: readonly DiffLine[], around = 3): DiffRow[] {
  const isNear = new Set<number>()
  for (const [index, { kind }] of lines.entries()) {
    if (kind === 'same') continue
    for (let near = index - around; near <= index + around; near += 1) isNear.add(near)
  }
  const rows: DiffRow[] = []
  for (const [index, line] of lines.entries()) {
    const last = rows.at(-1)
    if (isNear.has(index)) rows.push(line)
    else if (last?.kind === 'left_out') last.count += 1
    else rows.push({ kind: 'left_out', count: 1 })
  }
  return rows
}

function linesOf(text: string): string[] {
  if (text === '') return []
  return (text.endsWith('\n') ? text.slice(0, -1) : text).split('\n')
}

/** By the longest run of lines, not necessarily together, that both have. */
function between(old: readonly string[], next: readonly string[]): DiffLine[] {
  if (old.length * next.length > maxCompared) return [...as('removed', old), ...as('added', next)]
  const width = next.length + 1
  const common = new Uint32Array((old.length + 1) * width)
  const at = (row: number, column: number) => common[row * width + column] ?? 0
  for (let row = old.length - 1; row >= 0; row -= 1) {
    for (let column = next.length - 1; column >= 0; column -= 1) {
      common[row * width + column] =
        old[row] === next[column] ? at(row + 1, column + 1) + 1 : Math.max(at(row + 1, column), at(row, column + 1))
    }
  }
  const lines: DiffLine[] = []
  let row = 0
  let column = 0
  while (row < old.length || column < next.length) {
    if (row < old.length && column < next.length && old[row] === next[column]) {
      lines.push({ kind: 'same', text: old[row] ?? '' })
      row += 1
      column += 1
    } else if (row < old.length && (column === next.length || at(row + 1, column) >= at(row, column + 1))) {
      lines.push({ kind: 'removed', text: old[row] ?? '' })
      row += 1
    } else {
      lines.push({ kind: 'added', text: next[column] ?? '' })
      column += 1
    }
  }
  return lines
}

function as(kind: DiffLine['kind'], texts: readonly string[]): DiffLine[] {
  return texts.map((text) => ({ kind, text }))
}
