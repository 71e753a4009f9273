import type { CardElement, CardNode } from './card-node.ts'

const bodies = new Set(['thead', 'tbody', 'tfoot'])
const rows = new Set(['tr'])
const cells = new Set(['td', 'th'])
const captions = new Set(['caption'])
const columnGroups = new Set(['colgroup'])
const columns = new Set(['col'])

/** What stands nowhere but in a table. */
export const tableParts: ReadonlySet<string> = new Set([
  ...bodies,
  ...rows,
  ...cells,
  ...captions,
  ...columnGroups,
  ...columns,
])

interface TableSurroundings {
  /** Arranges what comes before the table. */
  before(nodes: readonly CardNode[]): CardNode[]
  /** Arranges what is in a caption or a cell, which is so many elements deeper than what is around the table. */
  within(element: CardElement, depth: number): CardNode[]
}

/**
 * A table whose every part has the whole that it belongs to. What does not belong in a table comes before it, which is
 * where a browser would move it.
 */
export function arrangeTable(table: CardElement, { before, within }: TableSurroundings): CardNode[] {
  const strays: CardNode[] = []
  const stray = (node: CardNode): [] => {
    if (typeof node !== 'string' || node.trim() !== '') strays.push(node)
    return []
  }
  const cellsOf = ({ children }: CardElement): CardNode[] =>
    children.flatMap((cell) => (isOneOf(cell, cells) ? [{ ...cell, children: within(cell, 4) }] : stray(cell)))
  const rowsOf = ({ children }: CardElement): CardNode[] =>
    gather(children, cells, 'tr').flatMap((row) =>
      isOneOf(row, rows) ? [{ ...row, children: cellsOf(row) }] : stray(row),
    )

  const inRows = gather(table.children, cells, 'tr')
  const inBodies = gather(gather(inRows, rows, 'tbody'), columns, 'colgroup')
  const children = inBodies.flatMap((part): CardNode[] => {
    if (typeof part === 'string') return stray(part)
    if (bodies.has(part.name)) return [{ ...part, children: rowsOf(part) }]
    if (captions.has(part.name)) return [{ ...part, children: within(part, 2) }]
    if (isOneOf(part, columnGroups))
      return [{ ...part, children: part.children.filter((col) => isOneOf(col, columns)) }]
    return stray(part)
  })
  return [...before(strays), { ...table, children }]
}

/** Puts neighbours of these names into an element of their own; white space between them does not part them. */
function gather(nodes: readonly CardNode[], names: ReadonlySet<string>, into: string): CardNode[] {
  const gathered: CardNode[] = []
  let group: CardNode[] | undefined
  for (const node of nodes) {
    if (isOneOf(node, names)) {
      if (group) group.push(node)
      else {
        group = [node]
        gathered.push({ name: into, attributes: {}, children: group })
      }
    } else if (typeof node !== 'string' || node.trim() !== '') {
      group = undefined
      gathered.push(node)
    }
  }
  return gathered
}

function isOneOf(node: CardNode, names: ReadonlySet<string>): node is CardElement {
  return typeof node !== 'string' && names.has(node.name)
}
