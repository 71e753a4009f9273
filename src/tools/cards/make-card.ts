import sanitizeHtml from 'sanitize-html'
import { oneLine, toDisplayText, toStorableText } from '../../base/text.ts'
import type { Card, Json } from '../../protocol/messages.ts'
import { allowedElements, drawingNames, inlineElements, linkAddress, silentElements } from './allowed-elements.ts'
import {
  type CardElement,
  type CardNode,
  cardIcon,
  cssColour,
  readFragment,
  voidElements,
  writeFragment,
} from './card-nodes.ts'
import { cardText } from './card-text.ts'
import { showSlides } from './show-slides.ts'

interface CardSource {
  html: string | null | undefined
  /** The title of this run; the manifest's title applies to all runs. */
  title?: string | null | undefined
  manifestTitle?: string | null | undefined
  params?: Readonly<Record<string, Json>> | undefined
  accentColor?: string | null | undefined
  backgroundColor?: string | null | undefined
  icon?: string | null | undefined
  pictures?: ReadonlyMap<string, string> | undefined
}

/** The card of a tool's result; undefined if there is nothing to show. All input is untrusted text. */
export function makeCard(source: CardSource): Card | undefined {
  const { html, title, manifestTitle, params = {}, accentColor, backgroundColor, icon, pictures } = source
  const safe = sanitiseCard(html ?? '', pictures)
  if (safe.trim() === '') return undefined
  const shown = {
    title: plainTitle(title ?? '') || fillTitle(manifestTitle ?? '', params),
    icon: cardIcon(icon),
    html: safe,
  }
  return {
    ...shown,
    text: cardText(shown),
    accentColor: cssColour(accentColor ?? '') ?? null,
    backgroundColor: cssColour(backgroundColor ?? '') ?? null,
  }
}

const tableParts = new Set('thead tbody tfoot tr td th caption colgroup col'.split(' '))

/** Every part gets its required parent. Other nodes are placed before the table, where a browser would move them. */
function arrangeTable(table: CardElement, place: Place): CardNode[] {
  if (place.depth + tableDepth > depthLimit) return arrange(table.children, place)
  const strays: CardNode[] = []
  const stray = (node: CardNode): [] => {
    if (typeof node !== 'string' || node.trim() !== '') strays.push(node)
    return []
  }
  const within = ({ name, children }: CardElement, depth: number) =>
    arrange(children, { ...place, parent: name, grandparent: '', depth: place.depth + depth })
  const cellsOf = ({ children }: CardElement): CardNode[] =>
    children.flatMap((cell) => (isOneOf(cell, 'td', 'th') ? [{ ...cell, children: within(cell, 4) }] : stray(cell)))
  const rowsOf = ({ children }: CardElement): CardNode[] =>
    gather(children, 'tr', 'td', 'th').flatMap((row) =>
      isOneOf(row, 'tr') ? [{ ...row, children: cellsOf(row) }] : stray(row),
    )

  const inRows = gather(table.children, 'tr', 'td', 'th')
  const inBodies = gather(gather(inRows, 'tbody', 'tr'), 'colgroup', 'col')
  const children = inBodies.flatMap((part): CardNode[] => {
    if (typeof part === 'string') return stray(part)
    if (['thead', 'tbody', 'tfoot'].includes(part.name)) return [{ ...part, children: rowsOf(part) }]
    if (part.name === 'caption') return [{ ...part, children: within(part, 2) }]
    if (part.name === 'colgroup') return [{ ...part, children: part.children.filter((col) => isOneOf(col, 'col')) }]
    return stray(part)
  })
  return [...arrange(strays, place), { ...table, children }]
}

/** Groups adjacent elements of these names into one parent; white space between them is ignored. */
function gather(nodes: readonly CardNode[], into: string, ...names: string[]): CardNode[] {
  const gathered: CardNode[] = []
  let group: CardNode[] | undefined
  for (const node of nodes) {
    if (isOneOf(node, ...names)) {
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

function isOneOf(node: CardNode, ...names: string[]): node is CardElement {
  return typeof node !== 'string' && names.includes(node.name)
}

/** A link shows its host and has no target: a click in the frame would load it. Its title is the whole address. */
function withHost({ name, attributes, children }: CardElement): CardElement {
  const { href, ...rest } = attributes
  const link = href === undefined ? undefined : linkAddress(href)
  if (!link) return { name, attributes: rest, children }
  const label = textOf(children).trim()
  const isShown = label === link.host || label === link.address || label === link.address.replace(/\/$/, '')
  // Isolated, because right-to-left text before it would reverse the host.
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

interface Place {
  parent: string
  grandparent: string
  depth: number
  isInLink: boolean
}

const top: Place = { parent: '', grandparent: '', depth: 0, isInLink: false }
const depthLimit = 48
const tableDepth = 4
const headings = new Set(['h1', 'h2', 'h3', 'h4', 'h5', 'h6'])
const lists = new Set(['ul', 'ol'])

/**
 * Arranges nodes so that a browser's parser leaves them unchanged, because that parser's corrections can make harmless
 * HTML harmful again: no block within a paragraph, no link in a link, no part of a list or table without its parent,
 * only shapes within a drawing. A misplaced element loses its tag and keeps its content.
 */
function arrange(nodes: readonly CardNode[], place: Place): CardNode[] {
  return joinTexts(nodes.flatMap((node) => (typeof node === 'string' ? [node] : arrangeElement(node, place))))
}

function arrangeElement(element: CardElement, place: Place): CardNode[] {
  const { name, children } = element
  const hasPlace =
    place.depth < depthLimit && !tableParts.has(name) && !drawingNames.has(name) && !(name === 'a' && place.isInLink)
  if (!hasPlace) return arrange(children, place)
  if (name === 'svg') return [{ ...element, children: arrangeDrawing(children, place.depth + 1, name) }]
  if (name === 'table') return arrangeTable(element, place)
  // An image that may not be loaded shows its description.
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

/** Shapes only: an HTML element would end the drawing for a browser, and with it all these checks. */
function arrangeDrawing(nodes: readonly CardNode[], depth: number, parent: string): CardNode[] {
  return joinTexts(
    nodes.flatMap((node): CardNode[] => {
      if (typeof node === 'string') return parent === 'text' || parent === 'tspan' ? [node] : []
      if (!drawingNames.has(node.name) || depth >= depthLimit) return []
      return [{ ...node, children: arrangeDrawing(node.children, depth + 1, node.name) }]
    }),
  )
}

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

const titleLimit = 120

/** A title as one line of plain text, with `{{name}}` replaced by that parameter, or by nothing. */
function fillTitle(template: string, params: Readonly<Record<string, Json>>): string {
  const filled = template.replace(/\{\{\s{0,8}([\w-]{1,64})\s{0,8}\}\}/g, (_, name: string) => {
    const value = Object.hasOwn(params, name) ? params[name] : undefined
    return value === null || typeof value === 'object' ? '' : String(value ?? '')
  })
  return plainTitle(filled)
}

/** Untrusted text as a title: one line, without anything that could control or disguise its display. */
function plainTitle(text: string): string {
  return oneLine(toDisplayText(text), titleLimit)
}

const sizeLimit = 256 * 1024
const pictureLimit = 1024 * 1024
const picture = /data:image\/\w{1,8};base64,[A-Za-z0-9+/=]+/g
const tagLimit = 20_000
const nestingLimit = 200

/**
 * Untrusted HTML as a fragment that runs nothing, loads nothing and links nowhere, wherever it is used.
 *
 * The library parses it and keeps listed elements; the result is read into a tree, arranged so that no browser corrects
 * it, and written again, so that nothing of the original spelling remains. Sanitizing is idempotent. Oversized input is
 * replaced by a sentence that says so. `pictures` contains the data of fetched images by address; every other address
 * is dropped.
 */
export function sanitiseCard(html: string, pictures: ReadonlyMap<string, string> = new Map()): string {
  const problem = sizeProblem(html)
  if (problem) return problem
  const keep: sanitizeHtml.Transformer = (tag, attributes) => {
    const data = tag.toLowerCase() === 'img' ? pictures.get(attributes.src?.trim() ?? '') : undefined
    return allowedTag(tag, data === undefined ? attributes : { ...attributes, src: data })
  }
  const kept = sanitizeHtml(toStorableText(html), { ...options, transformTags: { '*': keep } })
  const written = writeFragment(showSlides(arrange(readFragment(kept), top)))
  return sizeProblem(written) ?? written
}

export function pictureAddresses(html: string): string[] {
  if (sizeProblem(html)) return []
  const found = new Set<string>()
  const note = (tag: string, attributes: sanitizeHtml.Attributes) => {
    const source = attributes.src?.trim() ?? ''
    if (tag.toLowerCase() === 'img' && /^https?:\/\//i.test(source)) found.add(source)
    return { tagName: tag, attribs: {} }
  }
  sanitizeHtml(toStorableText(html), { ...options, transformTags: { '*': note } })
  return [...found]
}

const options: sanitizeHtml.IOptions = {
  allowedTags: [...allowedElements.keys()],
  allowedAttributes: Object.fromEntries([...allowedElements].map(([name, values]) => [name, Object.keys(values)])),
  allowedSchemes: ['http', 'https', 'mailto'],
  allowedSchemesByTag: { img: ['data'] },
  allowProtocolRelative: false,
  disallowedTagsMode: 'discard',
  nonTextTags: silentElements,
  selfClosing: [...voidElements],
  nestingLimit,
  // `safeStyle` has already filtered them.
  parseStyleAttributes: false,
}

/** Within `svg` the library writes some names with capitals, like a browser. */
function allowedTag(tag: string, attributes: sanitizeHtml.Attributes): sanitizeHtml.Tag {
  const tagName = tag.toLowerCase()
  const values = allowedElements.get(tagName) ?? {}
  const kept = Object.entries(attributes).flatMap(([key, text]) => {
    const name = key.toLowerCase()
    const value = Object.hasOwn(values, name) ? values[name]?.(text) : undefined
    return value === undefined ? [] : [[name, value]]
  })
  return { tagName, attribs: Object.fromEntries(kept) }
}

const tooLarge = '<p>This card is too large to be shown: more than 256 kB.</p>'

function sizeProblem(html: string): string | undefined {
  if (html.length > sizeLimit) {
    const markup = html.length > sizeLimit + pictureLimit ? html : html.replace(picture, '')
    if (markup.length > sizeLimit) return tooLarge
  }
  let tags = 0
  for (let at = html.indexOf('<'); at >= 0; at = html.indexOf('<', at + 1)) tags++
  return tags > tagLimit ? '<p>This card is too large to be shown: more than 10,000 elements.</p>' : undefined
}
