import { displayWidth } from '../../base/text.ts'
import type { Card } from '../../protocol/messages.ts'
import { inlineElements } from './allowed-elements.ts'
import { type CardElement, type CardNode, hasStyle, iconPicture, readFragment } from './card-nodes.ts'

type Shown = Pick<Card, 'title' | 'icon' | 'html'>

const usualWidth = 80

/** A card for a terminal with a monospace font: tables have columns, lines are wrapped. */
export function cardText({ width = usualWidth, ...card }: Shown & { width?: number }): string {
  return withTitle(card, renderLines(readFragment(card.html), { width: Math.max(20, width), table: alignTable }))
}

/** A card for a chat with a proportional font: a table row is a line that names its columns. */
export function plainCardText(card: Shown): string {
  return withTitle(card, renderLines(readFragment(card.html), { width: Number.POSITIVE_INFINITY, table: tableLines }))
}

function withTitle({ title, icon }: Shown, lines: string[]): string {
  const heading = [iconPicture(icon), title].filter(Boolean).join(' ')
  return [...(heading === '' ? [] : [heading, '']), ...lines].join('\n').trimEnd()
}

/** Lines of at most `width` columns, wrapped between words. A longer word stays whole: it may be an address. */
function wrapText(text: string, width: number): string[] {
  return text.split('\n').flatMap((line) => wrapLine(line.replace(/[ \t]+/g, ' ').trim(), width))
}

function wrapLine(line: string, width: number): string[] {
  if (displayWidth(line) <= width) return [line]
  const lines: string[] = []
  let current = ''
  let used = 0
  for (const word of line.split(' ')) {
    const wordWidth = displayWidth(word)
    if (current !== '' && used + 1 + wordWidth > width) {
      lines.push(current)
      current = ''
      used = 0
    }
    current = current === '' ? word : `${current} ${word}`
    used += wordWidth + (used === 0 ? 0 : 1)
  }
  return [...lines, current]
}

const gap = '  '
const narrowest = 6
const amount = /^[\s\d.,:%+−–€$£¥°/-]*\d[\s\d.,:%+−–€$£¥°/-]*[A-Za-zµ°]{0,4}$/

/** A table with aligned columns; amounts are right-aligned. Wide cells are wrapped. */
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

const hidden = /(?:^|;)display:none/i
/** Boxes side by side, without a space between them in the text. */
const sideBySide = /(?:^|;)display:(?:inline-)?(?:flex|grid)/i

/** Inline text: white space is one space, a line break is a newline. Blocks within are separated by a space. */
function inlineText(nodes: readonly CardNode[]): string {
  return nodes.map(textOfNode).join('')
}

function oneLine(nodes: readonly CardNode[]): string {
  return inlineText(nodes).replace(/\s+/g, ' ').trim()
}

function textOfNode(node: CardNode): string {
  if (typeof node === 'string') return node.replace(/\s+/g, ' ')
  if (hasStyle(node, hidden)) return ''
  switch (node.name) {
    case 'br':
      return '\n'
    case 'wbr':
      return ''
    case 'img':
      return named('image', node.attributes.alt)
    case 'svg':
      return named('drawing', node.attributes['aria-label'])
    case 'a':
      return linkText(node)
    case 'q':
      return `“${inlineText(node.children)}”`
    case 'meter':
    case 'progress':
      return gaugeText(node)
    case 'td':
    case 'th':
    case 'div':
    case 'li':
    case 'p':
      return ` ${inlineText(node.children)} `
    default:
      return hasStyle(node, sideBySide) ? node.children.map(textOfNode).join(' ') : inlineText(node.children)
  }
}

function named(what: string, name: string | undefined): string {
  return name ? `[${what}: ${name}]` : `[${what}]`
}

/** The whole address replaces the host that the sanitizer added. */
function linkText({ attributes, children }: CardElement): string {
  const address = attributes.title
  if (!address) return inlineText(children)
  const last = children.at(-1)
  const hasHost = typeof last === 'object' && last.name === 'bdi'
  const label = inlineText(hasHost ? children.slice(0, -1) : children).trim()
  return label === '' || label === address || `${label}/` === address ? address : `${label} (${address})`
}

function gaugeText({ attributes, children }: CardElement): string {
  const value = Number(attributes.value)
  const most = Number(attributes.max ?? 1)
  if (attributes.value === undefined || !(most > 0)) return inlineText(children)
  return `${Math.round((100 * value) / most)} %`
}

interface TableRows {
  caption: string
  /** Empty if the table has no column names. */
  head: string[]
  rows: string[][]
}

const columnLimit = 30

/** The content of a table, each cell in one line. The first row is the head if all its cells are head cells. */
function tableRows(table: CardElement): TableRows {
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

interface TextStyle {
  /** Columns per line; infinite if lines are not wrapped. */
  width: number
  table(rows: TableRows, width: number): string[]
}

const row = /(?:^|;)display:(?:inline-)?flex(?:;(?!.*flex-direction:column)|$)/i
const spaced = new Set('blockquote details dl figure h1 h2 h3 h4 h5 h6 hr ol p pre table ul'.split(' '))

/** Nodes as lines of text. One empty line separates blocks. */
function renderLines(nodes: readonly CardNode[], style: TextStyle): string[] {
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

/** Boxes side by side become one line if each is one line and they fit. */
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

/** One line per table row: `Monday: high 21°, low 14°`, or just the cells without a head. */
function tableLines({ caption, head, rows }: TableRows): string[] {
  const lines = rows.map((cells) => {
    const [first = '', ...rest] = cells
    const named = rest.flatMap((cell, at) => (cell === '' ? [] : [[head[at + 1], cell].filter(Boolean).join(' ')]))
    if (first === '' || named.length === 0) return [first, ...named].filter((cell) => cell !== '').join(', ')
    return `${first}: ${named.join(', ')}`
  })
  return caption === '' ? lines : [caption, ...lines]
}
