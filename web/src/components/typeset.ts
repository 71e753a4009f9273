import { render } from 'katex'
import 'katex/dist/katex.min.css'

const svg = 'http://www.w3.org/2000/svg'
const mathMl = 'http://www.w3.org/1998/Math/MathML'
const html = 'http://www.w3.org/1999/xhtml'

/** Everything that KaTeX makes of a formula. Other elements are removed with their content. */
const elements: Readonly<Record<string, ReadonlySet<string>>> = {
  [html]: new Set(['span']),
  [svg]: new Set(['svg', 'path', 'line', 'g']),
  [mathMl]: new Set(
    `math semantics annotation mrow mi mn mo ms mtext mspace mfrac msqrt mroot msub msup msubsup munder mover munderover mtable mtr
    mtd mlabeledtr mstyle mpadded mphantom merror menclose mmultiscripts mprescripts none`.split(/\s+/),
  ),
}
const attributes = new Set(
  `class style aria-hidden viewBox width height preserveAspectRatio d x1 y1 x2 y2 stroke-width xmlns encoding display mathvariant
  mathcolor mathbackground mathsize stretchy fence separator accent accentunder minsize maxsize lspace rspace movablelimits
  linethickness displaystyle scriptlevel columnalign rowspacing columnspacing columnlines rowlines side notation depth voffset
  rowalign symmetric form largeop`.split(/\s+/),
)

const kept = new Map<string, Node | null>()
const maxKept = 500
const longest = 5_000

/** A formula as nodes to copy; null where it is no formula that can be typeset. A formula is typeset once. */
export function typeset(tex: string, isDisplay: boolean): Node | null {
  const key = `${isDisplay}${tex}`
  const known = kept.get(key)
  if (known !== undefined) return known
  const made = tex.length > longest ? null : make(tex, isDisplay)
  const oldest = kept.keys().next()
  if (kept.size >= maxKept && !oldest.done) kept.delete(oldest.value)
  kept.set(key, made)
  return made
}

function make(tex: string, displayMode: boolean): Node | null {
  const place = document.createElement('span')
  try {
    // Untrusted: no links, pictures, classes or styles from the source. Sizes and macros have limits.
    render(tex, place, { displayMode, trust: false, strict: 'ignore', maxSize: 20, maxExpand: 500, throwOnError: true })
  } catch {
    return null
  }
  return copyOf(place)
}

function copyOf(node: Node): Node | null {
  if (node instanceof Text) return document.createTextNode(node.data)
  if (!(node instanceof Element) || !elements[node.namespaceURI ?? '']?.has(node.localName)) return null
  const copy = document.createElementNS(node.namespaceURI, node.localName)
  for (const { name, value } of node.attributes) {
    if (attributes.has(name) && !(name === 'style' && /url|fixed|expression/i.test(value)))
      copy.setAttribute(name, value)
  }
  for (const child of node.childNodes) {
    const made = copyOf(child)
    if (made) copy.append(made)
  }
  return copy
}
