import { parseLines } from './parse-lines.js'

/** What columns a table has, and what stands in them. */
export function run({ csv, separator }) {
  const [head = [], ...rows] = parseLines(csv, separator ?? guessSeparator(csv))
  const columns = head.map((name, index) => describeColumn(name, rows.map((row) => row[index] ?? '')))
  return { rows: rows.length, columns }
}

/** The one that is most often in the first line. */
function guessSeparator(csv) {
  const [line = ''] = csv.split('\n')
  return [',', ';', '\t'].sort((a, b) => line.split(b).length - line.split(a).length)[0]
}

function describeColumn(name, cells) {
  const filled = cells.filter((cell) => cell.trim() !== '')
  const empty = cells.length - filled.length
  const numbers = filled.map(Number)
  if (filled.length === 0 || numbers.some(Number.isNaN)) {
    return { name, kind: 'text', empty, different: new Set(filled).size }
  }
  const sum = numbers.reduce((total, number) => total + number, 0)
  const mean = Number((sum / numbers.length).toPrecision(12))
  return { name, kind: 'number', empty, least: Math.min(...numbers), most: Math.max(...numbers), mean, sum }
}
