import { toDisplayText } from '../../base/text.ts'
import cardWords from './card-words.json' with { type: 'json' }

/** The HTML of these nodes. Their content cannot end a tag, a value or an entity. */
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
  // A browser drops a newline at the start of a `pre`, so a significant one needs another before it.
  const first = children[0]
  const newline = name === 'pre' && typeof first === 'string' && first.startsWith('\n') ? '\n' : ''
  return `${start}${newline}${writeFragment(children)}</${name}>`
}

const iconName = /(?:^|\s)(fa-[a-z0-9]{1,30}(?:-[a-z0-9]{1,30}){0,5})$/
const emoji = /^\p{Extended_Pictographic}|^\p{Regional_Indicator}{2}$/u
const segmenter = new Intl.Segmenter()

/** An emoji, or an icon name as in manifests (`fa-star`, `fas fa-star`); never an address to load. */
export function cardIcon(text: string | null | undefined): string | null {
  const icon = text?.trim() ?? ''
  if (icon.length === 0 || icon.length > 64) return null
  const name = iconName.exec(icon)?.[1]
  if (name) return name
  return emoji.test(icon) && [...segmenter.segment(icon)].length === 1 ? icon : null
}

/** Icon names refer to a font that no card may load: common ones are replaced by an emoji. */
const pictures: Readonly<Record<string, string>> = cardWords.icons

export function iconPicture(icon: string | null): string | undefined {
  if (icon === null || !icon.startsWith('fa-')) return icon ?? undefined
  const [first = ''] = icon.slice('fa-'.length).split('-')
  return Object.hasOwn(pictures, first) ? pictures[first] : undefined
}

export interface CardElement {
  name: string
  attributes: Readonly<Record<string, string>>
  children: readonly CardNode[]
}

export type CardNode = string | CardElement

export const voidElements: ReadonlySet<string> = new Set(['br', 'col', 'hr', 'img', 'wbr'])

export function hasStyle(element: CardElement, pattern: RegExp): boolean {
  return pattern.test(element.attributes.style ?? '')
}

const hex = /^#(?:[0-9a-f]{3,4}|[0-9a-f]{6}|[0-9a-f]{8})$/
const functional = /^(?:rgba?|hsla?|hwb|lab|lch|oklab|oklch)\(([^()]{1,100})\)$/
const component = /^(?:[+-]?(?:\d{1,6}(?:\.\d{0,10})?|\.\d{1,10})(?:%|deg|grad|rad|turn)?|none)$/

const names = new Set(cardWords.colors.join(' ').split(' '))

/** The color in lower case if the text is exactly one CSS color; otherwise undefined. */
export function cssColour(text: string): string | undefined {
  const colour = text.trim().toLowerCase()
  if (names.has(colour) || colour === 'currentcolor' || hex.test(colour)) return colour
  const inside = functional.exec(colour)?.[1]
  if (inside === undefined) return undefined
  const components = inside.trim().split(/[\s,/]+/)
  const isWhole =
    (components.length === 3 || components.length === 4) && components.every((part) => component.test(part))
  return isWhole ? colour.replace(/\s+/g, ' ') : undefined
}

const piece = /<(\/?)([a-z][a-z0-9]*)((?: [a-z0-9-]+(?:="[^"]*")?)*)(?: \/)?>|[^<]+|</g
const attribute = / ([a-z0-9-]+)(?:="([^"]*)")?/g
const entities: Record<string, string> = { '&amp;': '&', '&lt;': '<', '&gt;': '>', '&quot;': '"' }

interface OpenElement extends CardElement {
  children: CardNode[]
}

/** Reads HTML written by `sanitiseCard` or its library, not untrusted HTML: anything of another shape is text. */
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
  // A browser drops a newline at the start of a `pre`.
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
