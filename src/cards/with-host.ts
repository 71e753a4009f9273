import type { CardElement, CardNode } from './card-node.ts'
import { linkAddress } from './link-address.ts'

/**
 * A link that leads nowhere by itself: a click in the frame would load what it names, and tell who is behind it that it
 * was clicked. Its host is shown, its whole address is the title, and both can be read and copied.
 */
export function withHost({ name, attributes, children }: CardElement): CardElement {
  const { href, ...rest } = attributes
  const link = href === undefined ? undefined : linkAddress(href)
  if (!link) return { name, attributes: rest, children }
  const label = textOf(children).trim()
  const isShown = label === link.host || label === link.address || label === link.address.replace(/\/$/, '')
  // Text before it that runs from right to left turns the host round unless it stands for itself.
  const host: CardElement = { name: 'bdi', attributes: {}, children: [`(${link.host})`] }
  return {
    name,
    attributes: { ...rest, title: link.address },
    children: isShown ? children : [...children, ' ', host],
  }
}

function textOf(nodes: readonly CardNode[]): string {
  return nodes.map((node) => (typeof node === 'string' ? node : textOf(node.children))).join('')
}
