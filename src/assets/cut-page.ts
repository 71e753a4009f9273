import { type AssetFailure, failure } from './asset-failure.ts'

export interface TextPage {
  ok: true
  text: string
  /** Counted from 1. An empty text has no lines: both are 0. */
  firstLine: number
  lastLine: number
  lines: number
  /** How to read on, or what of a line is missing; null where it is all there. */
  note: string | null
}

const mostLines = 2_000
// Less than what a result of a tool may have (src/agent/run-tool.ts): the note must not be what is cut off.
const mostCharacters = 25_000

/** Some lines of a text, from the line `offset` on; as many as fit. A line that alone is too long is cut. */
export function cutPage(
  text: string,
  { offset = 1, limit = mostLines }: { offset?: number | undefined; limit?: number | undefined },
): TextPage | AssetFailure {
  if (text === '') return { ok: true, text, firstLine: 0, lastLine: 0, lines: 0, note: null }
  const starts = lineStarts(text)
  const lines = starts.length
  const first = Math.max(1, offset)
  const from = starts[first - 1]
  if (from === undefined) return failure('past_end', `There are ${lines} lines; line ${first} is past the end.`)
  let last = Math.min(lines, first + Math.max(1, limit) - 1)
  const endOf = (line: number) => starts[line] ?? text.length
  if (last > first && endOf(last) - from > mostCharacters) last = lastFitting(starts, from, first)
  const whole = text.slice(from, endOf(last))
  const isCut = whole.length > mostCharacters
  const notes = [
    ...(isCut ? [`line ${first} has ${whole.length} characters, of which ${mostCharacters} are shown`] : []),
    ...(last < lines ? [`${lines - last} more lines: read on with offset ${last + 1}`] : []),
  ]
  const note = notes.length > 0 ? `[${notes.join('; ')}]` : null
  const shown = isCut
    ? whole
        .slice(0, mostCharacters)
        .toWellFormed()
        .replace(/\ufffd$/, '')
    : whole
  return { ok: true, text: shown, firstLine: first, lastLine: last, lines, note }
}

/** Where each line begins. What follows the last line break is a line only where there is something. */
function lineStarts(text: string): number[] {
  const starts = [0]
  for (let at = text.indexOf('\n'); at >= 0 && at + 1 < text.length; at = text.indexOf('\n', at + 1))
    starts.push(at + 1)
  return starts
}

function lastFitting(starts: readonly number[], from: number, first: number): number {
  let last = first
  while ((starts[last + 1] ?? Number.POSITIVE_INFINITY) - from <= mostCharacters) last += 1
  return last
}
