import type { ToolResult } from '../../protocol/message.ts'
import { withoutWrapping } from './without-wrapping.ts'

export interface NoteLine {
  /** `[memory:ID]`, to be repeated as it is. */
  citation: string
  /** `15 November 2026`. */
  date: string
  tags: readonly string[]
  text: string
}

const head = /^\[memory:[\w-]{1,64}\]/
const isoDate = /\d{4}-\d{2}-\d{2}/
const months = 'January February March April May June July August September October November December'.split(' ')

/** The notes in the answer of `recall_memory`: a line that begins with a citation, and the indented lines below it. */
export function readNoteLines(result: ToolResult): NoteLine[] {
  const notes: NoteLine[] = []
  for (const line of withoutWrapping(result).split('\n')) {
    const note = readHeadLine(line)
    const last = notes.at(-1)
    if (note) notes.push(note)
    else if (last && line.startsWith('  ')) last.text += `\n${line.slice(2)}`
  }
  return notes
}

/** The first citation in what `store_memory` answers, empty where there is none. */
export function readCitation(result: ToolResult): string {
  const start = result.text.indexOf('[memory:')
  return start < 0 ? '' : (head.exec(result.text.slice(start, start + 80))?.[0] ?? '')
}

/** `15 November 2026` for the first date in the text, undefined where there is none. */
export function readDate(text: string): string | undefined {
  const [year, month, day] = (isoDate.exec(text)?.[0] ?? '').split('-')
  const name = months[Number(month) - 1]
  return name === undefined ? undefined : `${Number(day)} ${name} ${year}`
}

function readHeadLine(line: string): NoteLine | undefined {
  const citation = head.exec(line)?.[0]
  if (citation === undefined) return undefined
  const rest = line.slice(citation.length).trimStart()
  const date = readDate(rest.slice(0, 10))
  const { tags, text } = readTags(date === undefined ? rest : rest.slice(10).trimStart())
  return { citation, date: date ?? 'an unknown day', tags, text }
}

function readTags(rest: string): { tags: string[]; text: string } {
  const opening = '(tags: '
  const end = rest.indexOf(') ')
  if (!rest.startsWith(opening) || end < 0) return { tags: [], text: rest }
  return { tags: rest.slice(opening.length, end).split(', '), text: rest.slice(end + 2) }
}
