import { type CardElement, type CardNode, hasStyle } from '../card-node.ts'

export const hidden = /(?:^|;)display:none/i
/** Boxes side by side, without a space between them in the text. */
const sideBySide = /(?:^|;)display:(?:inline-)?(?:flex|grid)/i

/** What stands in a line: white space is one space, a line break is a newline. Blocks within are parted by a space. */
export function inlineText(nodes: readonly CardNode[]): string {
  return nodes.map(textOfNode).join('')
}

/** The same in one line. */
export function oneLine(nodes: readonly CardNode[]): string {
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

/** The whole address takes the place of the host that the sanitiser has put there. */
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
