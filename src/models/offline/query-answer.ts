import type { ToolResult } from '../../protocol/message.ts'
import { type NoteLine, readNoteLines } from './note-lines.ts'
import { withoutWrapping } from './without-wrapping.ts'

/** What `memory_query` answered. */
export interface QueryAnswer {
  count: number
  /** What answers the question as it was asked. */
  exact: NoteLine[]
  /** What its words found besides. */
  byWords: NoteLine[]
}

const divider = '\nFound by words:\n'

export function readQueryAnswer(result: ToolResult): QueryAnswer {
  const text = `\n${withoutWrapping(result)}`
  const end = text.indexOf(divider)
  const part = (from: number, to?: number) => readNoteLines({ ...result, text: text.slice(from, to) })
  return {
    count: Number(/^\nCount: (\d{1,9})(?:\n|$)/.exec(text)?.[1] ?? 0),
    exact: part(0, end < 0 ? undefined : end),
    byWords: end < 0 ? [] : part(end + divider.length),
  }
}
