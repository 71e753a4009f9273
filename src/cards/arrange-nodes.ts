import { drawingNames, inlineElements } from './allowed-elements.ts'
import { arrangeTable, tableParts } from './arrange-table.ts'
import { type CardElement, type CardNode, voidElements } from './card-node.ts'
import { withHost } from './with-host.ts'

/** Where nodes stand. */
interface Place {
  parent: string
  grandparent: string
  depth: number
  isInLink: boolean
}

const depthLimit = 48
/** A table, its body, its row, its cell. */
const tableDepth = 4
const headings = new Set(['h1', 'h2', 'h3', 'h4', 'h5', 'h6'])
const lists = new Set(['ul', 'ol'])

/**
 * Brings nodes into an order that a browser's parser leaves as it is, because it is that parser's corrections that make
 * harmless HTML harmful again: no block within a paragraph, no link in a link, no part of a list or table without its
 * whole, nothing but shapes within a drawing. What has no place loses its tag; what it says stays.
 */
export function arrangeNodes(nodes: readonly CardNode[]): CardNode[] {
  return arrange(nodes, { parent: '', grandparent: '', depth: 0, isInLink: false })
}

function arrange(nodes: readonly CardNode[], place: Place): CardNode[] {
  return joinTexts(nodes.flatMap((node) => (typeof node === 'string' ? [node] : arrangeElement(node, place))))
}

function arrangeElement(element: CardElement, place: Place): CardNode[] {
  const { name, children } = element
  const hasPlace =
    place.depth < depthLimit && !tableParts.has(name) && !drawingNames.has(name) && !(name === 'a' && place.isInLink)
  if (!hasPlace) return arrange(children, place)
  if (name === 'svg') return [{ ...element, children: arrangeDrawing(children, place.depth + 1, name) }]
  if (name === 'table') return arrangeWholeTable(element, place)
  // A picture that may not be loaded is at least named.
  if (name === 'img' && element.attributes.src === undefined) return [element.attributes.alt ?? '']
  if (voidElements.has(name)) return [{ ...element, children: [] }]

  const renamed = nameAt(name, place)
  const within = {
    parent: renamed,
    grandparent: place.parent,
    depth: place.depth + 1,
    isInLink: place.isInLink || name === 'a',
  }
  const arranged = { name: renamed, attributes: element.attributes, children: arrange(children, within) }
  if (name === 'a') return [withHost(arranged)]
  // The start of a block ends a paragraph, whatever is still open in it.
  return [name === 'p' && arranged.children.some(holdsBlock) ? { ...arranged, name: 'div' } : arranged]
}

function arrangeWholeTable(table: CardElement, place: Place): CardNode[] {
  if (place.depth + tableDepth > depthLimit) return arrange(table.children, place)
  return arrangeTable(table, {
    before: (nodes) => arrange(nodes, place),
    within: ({ name, children }, depth) =>
      arrange(children, { ...place, parent: name, grandparent: '', depth: place.depth + depth }),
  })
}

function nameAt(name: string, { parent, grandparent }: Place): string {
  if (name === 'li') return lists.has(parent) ? name : 'div'
  if (name === 'dt' || name === 'dd')
    return parent === 'dl' || (parent === 'div' && grandparent === 'dl') ? name : 'div'
  if (headings.has(name)) return headings.has(parent) ? 'div' : name
  return name
}

function holdsBlock(node: CardNode): boolean {
  return typeof node !== 'string' && (!inlineElements.has(node.name) || node.children.some(holdsBlock))
}

/** Shapes only: the first element of HTML would end the drawing for a browser, and with it all that was checked here. */
function arrangeDrawing(nodes: readonly CardNode[], depth: number, parent: string): CardNode[] {
  return joinTexts(
    nodes.flatMap((node): CardNode[] => {
      if (typeof node === 'string') return parent === 'text' || parent === 'tspan' ? [node] : []
      if (!drawingNames.has(node.name) || depth >= depthLimit) return []
      return [{ ...node, children: arrangeDrawing(node.children, depth + 1, node.name) }]
    }),
  )
}

/** Neighbouring texts are one, as they are to a browser. */
function joinTexts(nodes: readonly CardNode[]): CardNode[] {
  const joined: CardNode[] = []
  for (const node of nodes) {
    const before = joined.at(-1)
    if (node === '') continue
    if (typeof node === 'string' && typeof before === 'string') joined[joined.length - 1] = before + node
    else joined.push(node)
  }
  return joined
}
