import { parseAnyJson } from '../../base/json.ts'
import type { ToolResult } from '../../protocol/message.ts'
import { withoutWrapping } from './without-wrapping.ts'

/** One memory in the answer of a tool. */
export interface NoteLine {
  id: string
  /** `[memory:ID]`, to be repeated as it is. */
  citation: string
  /** `2026-11-15`; empty where none was given. */
  day: string
  /** `15 November 2026`. */
  date: string
  kind: 'note' | 'fact' | 'episode' | 'commitment'
  /** Of a passage: the file and its lines, `trip.md:12-18`. */
  place: string | undefined
  speaker: string | undefined
  /** Of a commitment: `due 20 November 2026`, `open`, `done`. */
  due: string | undefined
  /** History: the day from which on it was no longer true. */
  until: string | undefined
  isUntrusted: boolean
  tags: readonly string[]
  text: string
}

const head = /^\[memory:([\w-]{1,64})\]/
const isoDate = /\d{4}-\d{2}-\d{2}/
const months = 'January February March April May June July August September October November December'.split(' ')
const kinds = ['fact', 'episode', 'commitment'] as const
const untrusted = '[untrusted] '
const isPlace = /^in .+:\d+(?:-\d+)?$/
const longestMarks = 600

/** The memories in the answer of a tool: a line that begins with a citation, and the indented lines below it. */
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
  const [citation, id = ''] = head.exec(line) ?? []
  if (citation === undefined) return undefined
  const rest = line.slice(citation.length).trimStart()
  const date = readDate(rest.slice(0, 10))
  const dated = date === undefined ? rest : rest.slice(10).trimStart()
  const isUntrusted = dated.startsWith(untrusted)
  const { marks, text } = readMarks(isUntrusted ? dated.slice(untrusted.length) : dated)
  return {
    id,
    citation,
    day: date === undefined ? '' : rest.slice(0, 10),
    date: date ?? 'an unknown day',
    isUntrusted,
    text: isUntrusted ? unquote(text) : text,
    ...sortMarks(marks),
  }
}

function sortMarks(marks: readonly string[]): Pick<NoteLine, 'kind' | 'place' | 'speaker' | 'due' | 'until' | 'tags'> {
  const kind = kinds.find((name) => marks.includes(name)) ?? 'note'
  const after = (opening: string) => marks.find((mark) => mark.startsWith(opening))?.slice(opening.length)
  const due = marks.find((mark) => /^(?:due \d|overdue since \d|open$|done$|cancelled$)/.test(mark))
  const until = after('until ')
  return {
    kind,
    until: until === undefined ? undefined : readDate(until),
    due: kind === 'commitment' && due !== undefined ? due.replace(isoDate, (day) => readDate(day) ?? day) : undefined,
    tags: after('tags: ')?.split(', ') ?? [],
    place: marks.find((mark) => isPlace.test(mark))?.slice('in '.length),
    speaker: after('said by '),
  }
}

/** `(fact; until 2026-12-01; tags: a, b) ` before the text. What is no mark at all belongs to the text. */
function readMarks(rest: string): { marks: string[]; text: string } {
  const end = rest.slice(0, longestMarks).indexOf(') ')
  if (!rest.startsWith('(') || end < 0) return { marks: [], text: rest }
  const marks = rest.slice(1, end).split('; ')
  const isMark = (mark: string) =>
    (kinds as readonly string[]).includes(mark) ||
    isPlace.test(mark) ||
    /^(?:tags: |title: |until \d|due \d|overdue since \d|said by |from (?:agent|extracted|import|tool|user)$)/.test(
      mark,
    ) ||
    (marks.includes('commitment') && ['open', 'done', 'cancelled'].includes(mark))
  return marks.every(isMark) ? { marks, text: rest.slice(end + 2) } : { marks: [], text: rest }
}

function unquote(text: string): string {
  const value = parseAnyJson(text)
  return value.ok && typeof value.value === 'string' ? value.value : text
}
