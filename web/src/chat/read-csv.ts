const maxCells = 20_000

/** The rows of a CSV text, with quoted cells. The most common of comma, semicolon and tab in the first line separates. */
export function readCsv(text: string): { rows: string[][]; isCut: boolean } {
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
