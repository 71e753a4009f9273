import { toDisplayText } from '../base/text.ts'
import { type CardElement, type CardNode, voidElements } from './card-node.ts'

const piece = /<(\/?)([a-z][a-z0-9]*)((?: [a-z0-9-]+(?:="[^"]*")?)*)(?: \/)?>|[^<]+|</g
const attribute = / ([a-z0-9-]+)(?:="([^"]*)")?/g
const entities: Record<string, string> = { '&amp;': '&', '&lt;': '<', '&gt;': '>', '&quot;': '"' }

interface OpenElement extends CardElement {
  children: CardNode[]
}

/**
 * Reads HTML that `sanitise-card.ts` has written, or the library before it: tags in lower case, values in quotes, four
 * entities. It is no parser of foreign HTML; what does not have that shape is text.
 */
export function readFragment(html: string): CardNode[] {
  const root: OpenElement = { name: '', attributes: {}, children: [] }
  const open: OpenElement[] = [root]
  for (const [text, slash, name, attributes] of html.matchAll(piece)) {
    const parent = open.at(-1) ?? root
    if (name === undefined) addText(parent, decode(text))
    else if (slash === '/') close(open, name)
    else {
      const element: OpenElement = { name, attributes: attributesOf(attributes ?? ''), children: [] }
      parent.children.push(element)
      if (!voidElements.has(name)) open.push(element)
    }
  }
  return root.children
}

function addText(parent: OpenElement, text: string): void {
  // A browser leaves out the newline that begins a `pre`.
  const kept = parent.name === 'pre' && parent.children.length === 0 ? text.replace(/^\n/, '') : text
  if (kept !== '') parent.children.push(kept)
}

function close(open: OpenElement[], name: string): void {
  const at = open.findLastIndex((element) => element.name === name)
  if (at > 0) open.length = at
}

function attributesOf(text: string): Record<string, string> {
  return Object.fromEntries([...text.matchAll(attribute)].map(([, name, value]) => [name, decode(value ?? '')]))
}

function decode(text: string): string {
  return toDisplayText(text.replace(/&(?:amp|lt|gt|quot);/g, (entity) => entities[entity] ?? entity))
}
