import type { CardElement, CardNode } from './card-nodes.ts'

type Style = Map<string, string>

const places = ['top', 'right', 'bottom', 'left', 'inset']

/**
 * Makes content readable that only a script would reveal: hidden panels beside others, slides on top of each other, and
 * strips of slides outside a window. They are shown one below the other. Idempotent.
 */
export function showSlides(nodes: readonly CardNode[]): CardNode[] {
  return nodes.map((node) => (typeof node === 'string' ? node : shownElement(node)))
}

function shownElement(element: CardElement): CardElement {
  const spread = shownStack(shownPanels(element.children))
  // The content of several slides needs more space than one.
  const isSpread = spread.some((node, at) => node !== element.children[at])
  const [style, children] = shownStrip(isSpread ? open(styleOf(element)) : styleOf(element), spread)
  return withStyle({ ...element, children: showSlides(children) }, style)
}

/** One hidden element among others of its kind is a slide or a tab; one that is hidden alone stays hidden. */
function shownPanels(nodes: readonly CardNode[]): readonly CardNode[] {
  const kinds = Map.groupBy(nodes.filter(isElement), ({ name }) => name)
  return nodes.map((node) => {
    if (!isElement(node) || (kinds.get(node.name)?.length ?? 0) < 2 || !holdsSomething(node)) return node
    const style = styleOf(node)
    if (!isHidden(style)) return node
    if (style.get('display') === 'none') style.delete('display')
    for (const name of ['visibility', 'opacity']) style.delete(name)
    return withStyle(node, style)
  })
}

/** Two elements of a kind at the same position: only the topmost is readable. */
function shownStack(nodes: readonly CardNode[]): readonly CardNode[] {
  const stacks = Map.groupBy(nodes.filter(isElement), placeOf)
  return nodes.map((node) => {
    const place = isElement(node) ? placeOf(node) : undefined
    if (!isElement(node) || place === undefined || (stacks.get(place)?.length ?? 0) < 2) return node
    const style = styleOf(node)
    for (const name of ['position', 'transform', 'height', ...places]) style.delete(name)
    return withStyle(node, style)
  })
}

function placeOf(element: CardElement): string | undefined {
  const style = styleOf(element)
  if (style.get('position') !== 'absolute' || !holdsSomething(element)) return undefined
  return [element.name, ...places.map((name) => style.get(name) ?? '')].join(' ')
}

/** A window with a row of slides behind it, or the row itself. */
function shownStrip(window: Style, children: readonly CardNode[]): [Style, readonly CardNode[]] {
  const isWindow = /hidden|clip/.test(`${window.get('overflow') ?? ''} ${window.get('overflow-x') ?? ''}`)
  if (!isWindow) return [window, children]
  if (isRowOfSlides(window, children)) return [open(window), children.map(slide)]
  const [track, ...others] = children.filter(isElement)
  if (!track || others.length > 0 || !isRowOfSlides(styleOf(track), track.children)) return [window, children]
  const row = styleOf(track)
  for (const name of ['width', 'transform']) row.delete(name)
  row.set('flex-wrap', 'wrap')
  const shown = withStyle({ ...track, children: track.children.map(slide) }, row)
  return [open(window), children.map((node) => (node === track ? shown : node))]
}

function open(window: Style): Style {
  const opened = new Map(window)
  for (const name of ['overflow', 'overflow-x', 'height', 'max-height']) opened.delete(name)
  if (/flex/.test(opened.get('display') ?? '')) opened.set('flex-wrap', 'wrap')
  return opened
}

function isRowOfSlides(row: Style, children: readonly CardNode[]): boolean {
  const slides = children.filter(isElement)
  const isRow = /flex/.test(row.get('display') ?? '') && !/column/.test(row.get('flex-direction') ?? '')
  return isRow && slides.length > 1 && (percent(row.get('width')) > 100 || slides.some((one) => isWide(styleOf(one))))
}

const isWide = (style: Style) =>
  ['width', 'min-width', 'flex-basis', 'flex'].some((name) => percent(style.get(name)) >= 80) &&
  !/^1\b/.test(style.get('flex') ?? '')

/** The percentage in `80%` or `0 0 100%`; zero if there is none. */
const percent = (value: string | undefined): number =>
  Number(/(?:^|\s)(\d{1,5}(?:\.\d+)?)%/.exec(value ?? '')?.[1] ?? 0)

function slide(node: CardNode): CardNode {
  if (!isElement(node)) return node
  const style = styleOf(node)
  for (const name of ['min-width', 'flex', 'flex-basis', 'flex-shrink', 'transform']) style.delete(name)
  style.set('width', '100%')
  return withStyle(node, style)
}

function isHidden(style: Style): boolean {
  return (
    style.get('display') === 'none' ||
    /^(?:hidden|collapse)$/.test(style.get('visibility') ?? '') ||
    (style.has('opacity') && Number.parseFloat(style.get('opacity') ?? '') < 0.05)
  )
}

function holdsSomething({ name, children }: CardElement): boolean {
  if (name === 'img' || name === 'svg') return true
  return children.some((child) => (typeof child === 'string' ? child.trim() !== '' : holdsSomething(child)))
}

const isElement = (node: CardNode): node is CardElement => typeof node !== 'string'

/** The sanitizer left no semicolon within a value. */
export function styleOf({ attributes }: CardElement): Style {
  const declarations = (attributes.style ?? '').split(';').filter((text) => text !== '')
  return new Map(
    declarations.map((text) => {
      const colon = text.indexOf(':')
      return [text.slice(0, colon), text.slice(colon + 1).toLowerCase() === 'none' ? 'none' : text.slice(colon + 1)]
    }),
  )
}

function withStyle(element: CardElement, style: Style): CardElement {
  const text = [...style].map(([name, value]) => `${name}:${value}`).join(';')
  if (text === (element.attributes.style ?? '')) return element
  const { style: _, ...attributes } = element.attributes
  return { ...element, attributes: text === '' ? attributes : { ...attributes, style: text } }
}
