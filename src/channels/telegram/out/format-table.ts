import { alignTable } from '../../../cards/text/align-table.ts'
import { parseInline } from './parse-inline.ts'

const delimiters = /^[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$/
const mostColumns = 20
const longestHead = 2_000
/** About what a telephone shows of letters that are all of one width, on its side. */
const width = 56

/** Whether a line with the one after it is the head of a table. */
export function isTableStart(line: string, next: string | undefined): boolean {
  if (next === undefined || next.length > longestHead || !line.includes('|') || !next.includes('|')) return false
  return delimiters.test(next) && cellsOf(line).length <= mostColumns
}

/** The rows with their columns one under the other; the first is the head. */
export function formatTable(rows: readonly string[]): string {
  const [head = [], ...rest] = rows.map((row) => cellsOf(row).map((cell) => parseInline(cell).text))
  const cut = rest.map((cells) => cells.slice(0, Math.max(1, head.length)))
  return alignTable({ caption: '', head, rows: cut }, width).join('\n')
}

function cellsOf(line: string): string[] {
  const inner = line
    .trim()
    .replace(/^\|/, '')
    .replace(/(?<!\\)\|$/, '')
  return inner.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll('\\|', '|'))
}
