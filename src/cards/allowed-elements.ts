import {
  type AttributeValue,
  address,
  anyText,
  colour,
  count,
  date,
  flag,
  id,
  imageData,
  language,
  length,
  lengthList,
  localReference,
  number,
  numberList,
  oneOf,
  paint,
  pathData,
  style,
  transforms,
} from './attribute-values.ts'

type Attributes = Readonly<Record<string, AttributeValue>>

const words = (text: string): string[] => text.split(' ')

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

/** Text that runs in a line; the others begin a new one. */
export const inlineElements: ReadonlySet<string> = new Set(
  words(
    'a abbr b bdi br cite code del dfn em i img ins kbd mark meter progress q s samp small span strong sub sup svg time u var wbr',
  ),
)
const blockElements = words(
  'address article aside blockquote dd details div dl dt figcaption figure footer h1 h2 h3 h4 h5 h6 header hr li main nav ol p pre section summary ul',
)
const tableElements = words('table caption colgroup col thead tbody tfoot tr td th')

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
  'font-family': (text) => (/^[\w ,'-]{1,200}$/.test(text.trim()) ? text.trim() : undefined),
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

/** Names are in lower case: a browser that reads them within `svg` gives them their capitals back. */
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
  stop: { style, offset: length, 'stop-color': colour, 'stop-opacity': length },
}

/** What may stand within `svg`. */
export const drawingNames: ReadonlySet<string> = new Set(Object.keys(drawingElements).filter((name) => name !== 'svg'))

/** Every element that a card may have, with what its attributes may say. All else is taken out. */
export const allowedElements: ReadonlyMap<string, Attributes> = new Map([
  ...[...inlineElements, ...blockElements, ...tableElements].map(
    (name) => [name, { ...everywhere, ...ownAttributes[name] }] as const,
  ),
  ...Object.entries(drawingElements),
])

/** What is taken out with everything in it: it holds something other than text to read. */
export const silentElements = words(
  'applet audio canvas datalist desc embed foreignobject frame frameset iframe math metadata noembed noframes noscript object option plaintext portal script select style template textarea title video xmp',
)
