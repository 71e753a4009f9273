const usualCells = 20_000

/** The rows of a CSV text, with quoted cells. The most common of comma, semicolon and tab in the first line separates. */
export function readCsv(text: string, maxCells = usualCells): { rows: string[][]; isCut: boolean } {
  const separator = separatorOf(text)
  const rows: string[][] = []
  let row: string[] = []
  let cell = ''
  let cells = 0
  let isQuoted = false
  const endCell = () => {
    row.push(cell)
    cell = ''
    cells += 1
  }
  const endRow = () => {
    endCell()
    rows.push(row)
    row = []
  }
  for (let at = 0; at < text.length; at += 1) {
    if (cells >= maxCells) return { rows, isCut: true }
    const one = text[at] ?? ''
    if (isQuoted) {
      if (one !== '"') cell += one
      else if (text[at + 1] === '"') {
        cell += one
        at += 1
      } else isQuoted = false
    } else if (one === '"' && cell === '') isQuoted = true
    else if (one === separator) endCell()
    else if (one === '\n') endRow()
    else if (one !== '\r' || text[at + 1] !== '\n') cell += one
  }
  if (cell !== '' || row.length > 0) endRow()
  return { rows, isCut: false }
}

function separatorOf(text: string): string {
  const line = text.slice(0, text.indexOf('\n') >>> 0)
  const count = (one: string) => line.split(one).length
  return [',', ';', '\t'].reduce((best, one) => (count(one) > count(best) ? one : best))
}

/** A table as CSV. A cell is quoted only where it must be, so that the text stays readable. */
export function writeCsv(rows: readonly (readonly string[])[]): string {
  const written = (cell: string) => (/[",;\t\r\n]|^\s|\s$/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)
  return rows.map((row) => `${row.map(written).join(',')}\r\n`).join('')
}

/** A number as people and programs write it, such as `1,200.50`, `-3`, `12 %` or `$5`; undefined for other text. */
export function numberIn(cell: string): number | undefined {
  const text = cell.trim().replace(/^([-+]?)[$€£¥]\s?|\s?[%€]$/g, '$1')
  if (!/^[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+)?(?:e[-+]?\d{1,3})?$/i.test(text) || !/\d/.test(text))
    return undefined
  const value = Number(text.replaceAll(',', ''))
  return Number.isFinite(value) ? value : undefined
}

/** The rows in the order of one column: by value where every filled cell is a number, otherwise by words. Empty cells are last. */
export function sortRows(rows: readonly string[][], column: number, isDown: boolean): string[][] {
  const at = (row: readonly string[]) => row[column] ?? ''
  const filled = rows.filter((row) => at(row).trim() !== '')
  const empty = rows.filter((row) => at(row).trim() === '')
  const values = new Map(filled.map((row) => [row, numberIn(at(row))]))
  const isNumeric = [...values.values()].every((value) => value !== undefined)
  const collator = new Intl.Collator(undefined, { numeric: true, sensitivity: 'base' })
  const order = (one: string[], other: string[]) =>
    isNumeric ? (values.get(one) ?? 0) - (values.get(other) ?? 0) : collator.compare(at(one), at(other))
  return [...filled.toSorted((one, other) => (isDown ? order(other, one) : order(one, other))), ...empty]
}
