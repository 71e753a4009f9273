import type { TableRows } from './table-rows.ts'

/** A table as one line for each row: `Monday: high 21°, low 14°`, or the cells one after another without a head. */
export function tableLines({ caption, head, rows }: TableRows): string[] {
  const lines = rows.map((cells) => {
    const [first = '', ...rest] = cells
    const named = rest.flatMap((cell, at) => (cell === '' ? [] : [[head[at + 1], cell].filter(Boolean).join(' ')]))
    if (first === '' || named.length === 0) return [first, ...named].filter((cell) => cell !== '').join(', ')
    return `${first}: ${named.join(', ')}`
  })
  return caption === '' ? lines : [caption, ...lines]
}
