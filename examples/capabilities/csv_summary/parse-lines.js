/** Rows of cells. A cell in quotation marks may hold separators, line ends, and quotation marks that stand there twice. */
export function parseLines(text, separator) {
  const rows = []
  let row = []
  let cell = ''
  let isQuoted = false
  for (let index = 0; index < text.length; index += 1) {
    const character = text[index]
    if (isQuoted && character === '"' && text[index + 1] === '"') {
      cell += '"'
      index += 1
    } else if (character === '"') {
      isQuoted = !isQuoted
    } else if (!isQuoted && character === separator) {
      row.push(cell)
      cell = ''
    } else if (!isQuoted && character === '\n') {
      rows.push([...row, cell.replace(/\r$/, '')])
      row = []
      cell = ''
    } else {
      cell += character
    }
  }
  return cell === '' && row.length === 0 ? rows : [...rows, [...row, cell]]
}
