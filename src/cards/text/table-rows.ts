import type { CardElement, CardNode } from '../card-node.ts'
import { oneLine } from './inline-text.ts'

export interface TableRows {
  caption: string
  /** Empty where the table names no columns. */
  head: string[]
  rows: string[][]
}

const columnLimit = 30

/** What a table says, each cell in one line. The first row is the head where all its cells are head cells. */
export function tableRows(table: CardElement): TableRows {
  const parts = table.children.filter((part) => typeof part === 'object')
  const caption = parts.find(({ name }) => name === 'caption')
  const rows = parts.flatMap((part) => elementsOf(part.children, 'tr'))
  const [first, ...rest] = rows
  const hasHead = first !== undefined && rest.length > 0 && elementsOf(first.children, 'td').length === 0
  return {
    caption: caption ? oneLine(caption.children) : '',
    head: hasHead ? cellTexts(first) : [],
    rows: (hasHead ? rest : rows).map(cellTexts).filter((cells) => cells.length > 0),
  }
}

function cellTexts(row: CardElement): string[] {
  return elementsOf(row.children, 'td', 'th')
    .flatMap(({ attributes, children }) => [
      oneLine(children),
      ...Array<string>(Math.min(columnLimit, Math.max(0, Number(attributes.colspan ?? 1) - 1))).fill(''),
    ])
    .slice(0, columnLimit)
}

function elementsOf(nodes: readonly CardNode[], ...names: string[]): CardElement[] {
  return nodes.filter((node) => typeof node === 'object' && names.includes(node.name)) as CardElement[]
}
