import { displayWidth } from '../../base/display-width.ts'
import type { TableRows } from './table-rows.ts'
import { wrapText } from './wrap-text.ts'

const gap = '  '
const narrowest = 6
const amount = /^[\s\d.,:%+−–€$£¥°/-]*\d[\s\d.,:%+−–€$£¥°/-]*[A-Za-zµ°]{0,4}$/

/** A table with its columns one under the other; amounts end at the right. Cells that are too wide go on below. */
export function alignTable({ caption, head, rows }: TableRows, width: number): string[] {
  const all = head.length > 0 ? [head, ...rows] : rows
  const columns = Math.max(0, ...all.map((cells) => cells.length))
  const widths = fitColumns(
    Array.from({ length: columns }, (_, column) =>
      Math.max(1, ...all.map((cells) => displayWidth(cells[column] ?? ''))),
    ),
    width - gap.length * (columns - 1),
  )
  const isAmount = widths.map((_, column) => isColumnOfAmounts(rows.map((cells) => cells[column] ?? '')))
  const draw = (cells: string[]): string[] => {
    const wrapped = widths.map((columnWidth, column) => wrapText(cells[column] ?? '', columnWidth))
    const height = Math.max(1, ...wrapped.map((lines) => lines.length))
    return Array.from({ length: height }, (_, line) =>
      widths
        .map((columnWidth, column) => pad(wrapped[column]?.[line] ?? '', columnWidth, isAmount[column] === true))
        .join(gap)
        .trimEnd(),
    )
  }
  const rule = head.length > 0 ? [widths.map((columnWidth) => '─'.repeat(columnWidth)).join(gap)] : []
  return [
    ...(caption === '' ? [] : wrapText(caption, width)),
    ...(head.length > 0 ? draw(head) : []),
    ...rule,
    ...rows.flatMap(draw),
  ]
}

/** The widest columns give way until all fit. */
function fitColumns(widths: number[], room: number): number[] {
  const fitted = [...widths]
  let excess = fitted.reduce((sum, width) => sum + width, 0) - room
  while (excess > 0) {
    const widest = Math.max(...fitted)
    if (widest <= narrowest) break
    const next = Math.max(narrowest, ...fitted.filter((width) => width < widest))
    const columns = fitted.flatMap((width, column) => (width === widest ? [column] : []))
    const each = Math.min(widest - next, Math.ceil(excess / columns.length))
    for (const column of columns) fitted[column] = widest - each
    excess -= each * columns.length
  }
  return fitted
}

function isColumnOfAmounts(cells: string[]): boolean {
  const filled = cells.filter((cell) => cell !== '')
  return filled.length > 0 && filled.every((cell) => cell.length < 40 && amount.test(cell))
}

function pad(text: string, width: number, isRight: boolean): string {
  const space = ' '.repeat(Math.max(0, width - displayWidth(text)))
  return isRight ? space + text : text + space
}
