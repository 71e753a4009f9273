import { type CardElement, type CardNode, voidElements } from './card-node.ts'

/** The HTML of these nodes. What is in them cannot end a tag, a value or an entity. */
export function writeFragment(nodes: readonly CardNode[]): string {
  return nodes.map((node) => (typeof node === 'string' ? escapeHtml(node) : writeElement(node))).join('')
}

export function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
}

function writeElement({ name, attributes, children }: CardElement): string {
  const written = Object.entries(attributes).map(([key, value]) => ` ${key}="${escapeHtml(value)}"`)
  const start = `<${name}${written.join('')}>`
  if (voidElements.has(name)) return start
  // A browser leaves out the newline that begins a `pre`, so one that counts needs another before it.
  const first = children[0]
  const newline = name === 'pre' && typeof first === 'string' && first.startsWith('\n') ? '\n' : ''
  return `${start}${newline}${writeFragment(children)}</${name}>`
}
