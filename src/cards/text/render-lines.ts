import { inlineElements } from '../allowed-elements.ts'
import { type CardElement, type CardNode, hasStyle } from '../card-node.ts'
import { hidden, inlineText } from './inline-text.ts'
import { type TableRows, tableRows } from './table-rows.ts'
import { wrapText } from './wrap-text.ts'

export interface TextStyle {
  /** Columns of a line; infinite where lines end by themselves. */
  width: number
  table(rows: TableRows, width: number): string[]
}

const row = /(?:^|;)display:(?:inline-)?flex(?:;(?!.*flex-direction:column)|$)/i
/** What stands apart from what is before and after it. */
const spaced = new Set([
  'blockquote',
  'details',
  'dl',
  'figure',
  'h1',
  'h2',
  'h3',
  'h4',
  'h5',
  'h6',
  'hr',
  'ol',
  'p',
  'pre',
  'table',
  'ul',
])

/** Nodes as lines of text. An empty line parts what stands apart; there are no two of them. */
export function renderLines(nodes: readonly CardNode[], style: TextStyle): string[] {
  const lines: string[] = []
  let run: CardNode[] = []
  const part = () => {
    if (lines.length > 0 && lines.at(-1) !== '') lines.push('')
  }
  const endRun = () => {
    const text = inlineText(run).trim()
    if (text !== '') lines.push(...wrapText(text, style.width))
    run = []
  }
  for (const node of nodes) {
    if (typeof node === 'string' || isInline(node)) {
      run.push(node)
      continue
    }
    endRun()
    if (hasStyle(node, hidden)) continue
    if (spaced.has(node.name)) part()
    lines.push(...renderBlock(node, style))
    if (spaced.has(node.name)) part()
  }
  endRun()
  return withoutDoubles(lines)
}

function isInline(node: CardElement): boolean {
  if (node.name === 'svg') return true
  return inlineElements.has(node.name) && !node.children.some((child) => typeof child === 'object' && !isInline(child))
}

function renderBlock(node: CardElement, style: TextStyle): string[] {
  const { children } = node
  switch (node.name) {
    case 'table':
      return style.table(tableRows(node), style.width)
    case 'pre':
      return plainText(children).trimEnd().split('\n')
    case 'hr':
      return ['─'.repeat(Math.min(20, style.width))]
    case 'ul':
    case 'ol':
      return renderList(node, style)
    case 'blockquote':
      return beside('│ ', children, style)
    case 'dd':
      return beside('  ', children, style)
    case 'details':
      return renderDetails(children, style)
    default:
      return hasStyle(node, row) ? renderRow(children, style) : renderLines(children, style)
  }
}

function renderList({ name, attributes, children }: CardElement, style: TextStyle): string[] {
  let number = Number(attributes.start ?? 1)
  return children.flatMap((item) => {
    if (typeof item === 'string') return wrapText(item.trim(), style.width).filter((line) => line !== '')
    if (item.name !== 'li') return beside('  ', [item], style)
    const mark = name === 'ol' ? `${number++}. ` : '• '
    const lines = renderLines(item.children, narrower(style, mark.length))
    return hanging(
      mark,
      lines.filter((line) => line !== ''),
    )
  })
}

function renderDetails(children: readonly CardNode[], style: TextStyle): string[] {
  const at = children.findIndex((child) => typeof child === 'object' && child.name === 'summary')
  const summary = children[at]
  const rest = children.filter((_, index) => index !== at)
  const head = typeof summary === 'object' ? renderLines(summary.children, narrower(style, 2)) : ['Details']
  return [...hanging('▸ ', head), ...beside('  ', rest, style)]
}

/** Boxes side by side are one line where each of them is one and they fit. */
function renderRow(children: readonly CardNode[], style: TextStyle): string[] {
  const boxes = children.map((child) => renderLines([child], style)).filter((lines) => lines.length > 0)
  const line = boxes.map(([first]) => first).join('  ')
  return boxes.every((lines) => lines.length === 1) && line.length <= style.width ? [line] : boxes.flat()
}

function beside(mark: string, children: readonly CardNode[], style: TextStyle): string[] {
  return renderLines(children, narrower(style, mark.length)).map((line) => (mark + line).trimEnd())
}

function hanging(mark: string, lines: string[]): string[] {
  const [first = '', ...rest] = lines
  return [mark + first, ...rest.map((line) => (' '.repeat(mark.length) + line).trimEnd())]
}

function narrower(style: TextStyle, columns: number): TextStyle {
  return { ...style, width: Math.max(20, style.width - columns) }
}

function plainText(nodes: readonly CardNode[]): string {
  return nodes
    .map((node) => (typeof node === 'string' ? node : node.name === 'br' ? '\n' : plainText(node.children)))
    .join('')
}

function withoutDoubles(lines: string[]): string[] {
  const kept = lines.filter((line, at) => line !== '' || (at > 0 && lines[at - 1] !== ''))
  return kept.at(-1) === '' ? kept.slice(0, -1) : kept
}
