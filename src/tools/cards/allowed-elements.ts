import { toDisplayText } from '../../base/text.ts'
import { cssColour } from './card-nodes.ts'
import cardWords from './card-words.json' with { type: 'json' }

function words(text: string): string[] {
  return text.split(' ')
}

const addressLimit = 2_000

interface LinkAddress {
  /** The complete address, in ASCII and without credentials. */
  address: string
  host: string
}

/** The target of a link to a web page or a mailbox; otherwise undefined. */
export function linkAddress(href: string): LinkAddress | undefined {
  if (href.length > addressLimit) return undefined
  // Browsers drop these characters anywhere, which can reveal `javascript:`.
  const url = URL.parse(href.replace(/[\t\n\r]/g, '').trim())
  if (url === null) return undefined
  if (url.protocol === 'mailto:') return url.pathname ? linkTo(`mailto:${url.pathname}`, url.pathname) : undefined
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return undefined
  // `https://bank.example@elsewhere.example/` looks like the bank's.
  url.username = ''
  url.password = ''
  return linkTo(url.href, url.host)
}

/** In ASCII it may be nine times as long. */
function linkTo(address: string, host: string): LinkAddress | undefined {
  return address.length > addressLimit ? undefined : { address, host }
}

/** The CSS properties that a card may set: appearance, and position within the card. */
const styleProperties: ReadonlySet<string> = new Set(words(cardWords.styleProperties.join(' ')))

/**
 * Keeps the parts of a style attribute that only change appearance.
 *
 * A declaration is kept if its property is listed and every token of its value is of a listed kind. Functions are
 * allowed by name, so loading ones (`url`, `image-set`, `src`, …) need not be known; a backslash is not a token, so no
 * escape can spell one; quotes and brackets are complete, so no value reaches into the next.
 */
function safeStyle(text: string): string {
  if (text.length > 5_000) return ''
  return declarations(text)
    .flatMap((declaration) => safeDeclaration(declaration) ?? [])
    .join(';')
}

const functions = new Set(words(cardWords.styleFunctions.join(' ')))
const token =
  /\s+|(?<name>[a-z-]+)\(|[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?(?:%|[a-z]{1,5})?|#[0-9a-f]{3,8}|-{0,2}[a-z_][\w-]*|'[\w .-]*'|"[\w .-]*"|[()+*,/-]/iy

/** Splits at every semicolon outside quotes and brackets. */
function declarations(text: string): string[] {
  const found: string[] = []
  let start = 0
  let depth = 0
  let quote = ''
  for (let at = 0; at < text.length; at++) {
    const character = text.charAt(at)
    if (quote !== '') {
      if (character === quote) quote = ''
    } else if (character === '"' || character === "'") quote = character
    else if (character === '(') depth++
    else if (character === ')') depth--
    else if (character === ';' && depth === 0) {
      found.push(text.slice(start, at))
      start = at + 1
    }
  }
  return [...found, text.slice(start)]
}

function safeDeclaration(declaration: string): string | undefined {
  const colon = declaration.indexOf(':')
  if (colon < 0) return undefined
  const property = declaration.slice(0, colon).trim().toLowerCase()
  if (!styleProperties.has(property)) return undefined
  const value = withoutImportant(declaration.slice(colon + 1))
  if (value === '' || value.length > 500 || !isHarmless(value)) return undefined
  // A fixed element would leave the card.
  if (property === 'position' && !/^(?:static|relative|absolute)$/i.test(value)) return undefined
  return `${property}:${value}`
}

function withoutImportant(value: string): string {
  const trimmed = value.replace(/\s+/g, ' ').trim()
  return trimmed.toLowerCase().endsWith('!important') ? trimmed.slice(0, -'!important'.length).trim() : trimmed
}

function isHarmless(value: string): boolean {
  // Both characters are tokens; together they begin a comment, which would hide the rest.
  if (value.includes('/*')) return false
  let depth = 0
  token.lastIndex = 0
  while (token.lastIndex < value.length) {
    const match = token.exec(value)
    if (!match) return false
    const name = match.groups?.name
    if (name !== undefined && !functions.has(name.toLowerCase())) return false
    if (match[0].endsWith('(')) depth++
    if (match[0] === ')') depth--
    if (depth < 0) return false
  }
  return depth === 0
}

type AttributeValue = (text: string) => string | undefined

/** As text: 300 kB of image data. */
const imageLimit = 400 * 1024
const image = /^data:image\/(png|jpe?g|gif|webp);base64,([A-Za-z0-9+/]+={0,2})$/i
/** Prefixed to every id of a card, so that none of them is an id or a global name of the page. */
const idPrefix = 'card-'

/** As long as the longest link address, which is shown as a title. */
const anyText: AttributeValue = (text) =>
  toDisplayText(text).trim().slice(0, addressLimit).toWellFormed().trim() || undefined
const style: AttributeValue = (text) => safeStyle(text) || undefined
const flag: AttributeValue = () => ''
const count = matching(/^\d{1,6}$/)
const number = matching(/^[+-]?\d{1,9}(?:\.\d{0,12})?$/)
const length = matching(/^[+-]?(?:\d{1,9}(?:\.\d{0,12})?|\.\d{1,12})(?:%|[a-z]{1,4})?$/)
const numberList = matching(/^[\d\s,.e+-]{1,50000}$/i)
const lengthList = matching(/^[\d\s,.e%+-]{1,2000}(?:px|em)?$/i)
const pathData = matching(/^[mzlhvcsqta\d\s,.e+-]{1,50000}$/i)
const transforms = matching(
  /^(?:(?:matrix|translate|scale|rotate|skew[xy])\s?\([\d\s,.e+-]{0,200}\)[\s,]{0,3}){1,20}$/i,
)
const language = matching(/^[a-z]{1,8}(?:-[a-z\d]{1,8}){0,4}$/i)
const date = matching(/^[\d\s.:+TZPWDHMS-]{1,64}$/i)

function oneOf(...words: string[]): AttributeValue {
  return (text) => words.find((word) => word.toLowerCase() === text.trim().toLowerCase())
}

const id: AttributeValue = (text) => {
  const name = /^(?:card-)?([\w-]{1,64})$/.exec(text)?.[1]
  return name === undefined ? undefined : `${idPrefix}${name}`
}

const paint: AttributeValue = (text) => {
  const reference = /^url\(\s?['"]?#([\w-]{1,80})['"]?\s?\)$/i.exec(text.trim())?.[1]
  if (reference === undefined) return oneOf('none')(text) ?? cssColour(text)
  const name = id(reference)
  return name === undefined ? undefined : `url(#${name})`
}

const localReference: AttributeValue = (text) => {
  const name = text.trim().startsWith('#') ? id(text.trim().slice(1)) : undefined
  return name === undefined ? undefined : `#${name}`
}

/** An embedded image. No SVG: it is a document of its own, with scripts and references. */
const imageData: AttributeValue = (text) => {
  if (text.length > imageLimit) return undefined
  const [, type, data] = image.exec(text.replace(/\s+/g, '')) ?? []
  return type && data ? `data:image/${type.toLowerCase().replace('jpg', 'jpeg')};base64,${data}` : undefined
}

const address: AttributeValue = (text) => linkAddress(text)?.address

function matching(pattern: RegExp): AttributeValue {
  return (text) => {
    const value = text.trim()
    return pattern.test(value) ? value : undefined
  }
}

type Attributes = Readonly<Record<string, AttributeValue>>

const everywhere: Attributes = {
  style,
  title: anyText,
  lang: language,
  dir: oneOf('ltr', 'rtl', 'auto'),
  role: oneOf('img', 'presentation', 'list', 'listitem', 'note', 'status'),
  'aria-label': anyText,
  'aria-hidden': oneOf('true', 'false'),
}
const cell: Attributes = {
  colspan: count,
  rowspan: count,
  scope: oneOf('row', 'col', 'rowgroup', 'colgroup'),
  align: oneOf('left', 'right', 'center', 'justify'),
  valign: oneOf('top', 'middle', 'bottom', 'baseline'),
  width: length,
}
const gauge: Attributes = { value: number, max: number, min: number, low: number, high: number, optimum: number }

/** Inline elements; the others start a new line. */
export const inlineElements: ReadonlySet<string> = new Set(words(cardWords.inlineElements))
const blockElements = words(cardWords.blockElements)
const tableElements = words(cardWords.tableElements)

const ownAttributes: Readonly<Record<string, Attributes>> = {
  a: { href: address },
  img: { src: imageData, alt: anyText, width: length, height: length },
  details: { open: flag },
  ol: { start: number, reversed: flag, type: oneOf('1', 'a', 'i') },
  li: { value: number },
  time: { datetime: date },
  meter: gauge,
  progress: gauge,
  col: { span: count, width: length },
  td: cell,
  th: cell,
  table: { width: length, align: oneOf('left', 'right', 'center') },
}

const look: Attributes = {
  style,
  fill: paint,
  stroke: paint,
  opacity: length,
  transform: transforms,
  'fill-opacity': length,
  'fill-rule': oneOf('nonzero', 'evenodd'),
  'stroke-opacity': length,
  'stroke-width': length,
  'stroke-dasharray': lengthList,
  'stroke-dashoffset': length,
  'stroke-linecap': oneOf('butt', 'round', 'square'),
  'stroke-linejoin': oneOf('miter', 'round', 'bevel'),
  'vector-effect': oneOf('none', 'non-scaling-stroke'),
}
const type: Attributes = {
  'font-size': length,
  'font-weight': oneOf('normal', 'bold', '300', '400', '500', '600', '700', '800'),
  'font-family': matching(/^[\w ,'-]{1,200}$/),
  'text-anchor': oneOf('start', 'middle', 'end'),
  'dominant-baseline': oneOf('auto', 'middle', 'central', 'hanging', 'text-top', 'text-bottom', 'alphabetic'),
  'letter-spacing': length,
}
const glyphs: Attributes = { ...look, ...type, x: lengthList, y: lengthList, dx: lengthList, dy: lengthList }
const gradient: Attributes = {
  id,
  href: localReference,
  gradientunits: oneOf('userSpaceOnUse', 'objectBoundingBox'),
  gradienttransform: transforms,
  spreadmethod: oneOf('pad', 'reflect', 'repeat'),
}

/** Names are lower case: a browser restores their capitals within `svg`. */
const drawingElements: Readonly<Record<string, Attributes>> = {
  svg: {
    ...look,
    ...type,
    viewbox: numberList,
    width: length,
    height: length,
    role: oneOf('img', 'presentation'),
    'aria-label': anyText,
    'aria-hidden': oneOf('true', 'false'),
    preserveaspectratio: (text) =>
      /^x?(?:none|m[a-z]{2}y?m[a-z]{2})(?: (?:meet|slice))?$/i.test(text) ? text : undefined,
  },
  g: { ...look, ...type },
  defs: {},
  path: { ...look, d: pathData },
  circle: { ...look, cx: length, cy: length, r: length },
  ellipse: { ...look, cx: length, cy: length, rx: length, ry: length },
  rect: { ...look, x: length, y: length, width: length, height: length, rx: length, ry: length },
  line: { ...look, x1: length, y1: length, x2: length, y2: length },
  polyline: { ...look, points: numberList },
  polygon: { ...look, points: numberList },
  text: { ...glyphs, rotate: numberList, textlength: length },
  tspan: glyphs,
  lineargradient: { ...gradient, x1: length, y1: length, x2: length, y2: length },
  radialgradient: { ...gradient, cx: length, cy: length, r: length, fx: length, fy: length },
  stop: { style, offset: length, 'stop-color': cssColour, 'stop-opacity': length },
}

export const drawingNames: ReadonlySet<string> = new Set(Object.keys(drawingElements).filter((name) => name !== 'svg'))

/** Every element that a card may have, with its attribute rules. Everything else is removed. */
export const allowedElements: ReadonlyMap<string, Attributes> = new Map([
  ...[...inlineElements, ...blockElements, ...tableElements].map(
    (name) => [name, { ...everywhere, ...ownAttributes[name] }] as const,
  ),
  ...Object.entries(drawingElements),
])

/** Elements that are removed with their content, because it is not readable text. */
export const silentElements = words(cardWords.silentElements)
