import { createHash } from 'node:crypto'
import { readBundledText } from '../../base/files.ts'
import type { Card } from '../../protocol/messages.ts'
import { type CardNode, cssColour, escapeHtml, iconPicture, readFragment } from './card-nodes.ts'
import cardWords from './card-words.json' with { type: 'json' }
import { styleOf } from './show-slides.ts'

/** The only style sheet of a card's frame, constant so that policies can name its hash and allow no other. */
const frameStyle = `\n${readBundledText(new URL('./frame.css', import.meta.url))}\n`

const styleHash = `'sha256-${createHash('sha256').update(frameStyle).digest('base64')}'`

/** Nothing is loaded, run, sent or embedded; only this style sheet and element styles are allowed. */
const policy = [
  `default-src 'none'`,
  'img-src data:',
  `style-src-elem ${styleHash}`,
  `style-src-attr 'unsafe-inline'`,
  `form-action 'none'`,
  `base-uri 'none'`,
].join('; ')

/** Attributes of the frame element: a separate origin, without any frame permissions. */
export const frameAttributes: Readonly<Record<string, string>> = { sandbox: '', referrerpolicy: 'no-referrer' }

/**
 * Required in the policy of the page around the frame. A document cannot forbid its own navigation: without `frame-src
 * 'none'` a click on a remaining link would load it into the frame. The styles are named because a frame's document
 * inherits its page's policy.
 */
export const framePagePolicy: Readonly<Record<string, string>> = {
  'frame-src': `'none'`,
  'img-src': `'self' data:`,
  'style-src-elem': `'self' ${styleHash}`,
  'style-src-attr': `'unsafe-inline'`,
}

/**
 * Headers that the page must send besides its policy. No content policy prevents name lookups or early connections
 * (`dns-prefetch`, `preconnect`); this header does, in browsers that support it, and the frame inherits it.
 */
export const framePageHeaders: Readonly<Record<string, string>> = { 'connection-allowlist': '(response-origin)' }

/** For `srcdoc` of a frame with `frameAttributes`. It is safe even if the card's HTML was never sanitized. */
export function frameDocument(card: Card): string {
  const { title, html, icon, accentColor, backgroundColor } = card
  const paper = cardPaper(card)
  const picture = iconPicture(icon)
  const heading = [picture && `<span aria-hidden="true">${escapeHtml(picture)}</span>`, title && escapeHtml(title)]
  const header = heading.some(Boolean) ? `<header>${heading.filter(Boolean).join(' ')}</header>` : ''
  const accent = cssColour(accentColor ?? '')
  const tint = cssColour(backgroundColor ?? '')
  const colours = [accent && `--accent: ${accent}`, tint && `--tint: ${tint}`]
  return [
    `<!doctype html><html${paper ? ` data-paper="${paper}"` : ''}><head><meta charset="utf-8">`,
    `<meta http-equiv="Content-Security-Policy" content="${escapeHtml(policy)}">`,
    '<meta http-equiv="x-dns-prefetch-control" content="off">',
    '<meta name="referrer" content="no-referrer"><meta name="viewport" content="width=device-width">',
    `<title>${escapeHtml(title)}</title><style>${frameStyle}</style></head>`,
    `<body style="${escapeHtml(colours.filter(Boolean).join('; '))}">${header}<main>${html}</main></body></html>`,
  ].join('\n')
}

type Color = readonly [red: number, green: number, blue: number, alpha: number]

/** The style sheet's values for each: background, and default text color. */
const papers = {
  light: { ground: [255, 255, 255, 1], text: [31, 35, 40, 1] },
  dark: { ground: [28, 31, 36, 1], text: [230, 232, 235, 1] },
} as const satisfies Record<string, { ground: Color; text: Color }>

const readable = 3

/** A run of text: undefined stands for the paper's color. */
interface Run {
  length: number
  color: Color | undefined
  ground: Color | undefined
}

/** The paper on which most of a card is readable. Undefined if both work; then the card follows the page. */
function cardPaper({ title, html, backgroundColor }: Card): 'light' | 'dark' | undefined {
  const tint = readColor(backgroundColor ?? '')
  const runs = [{ length: title.length, color: undefined, ground: undefined }, ...runsOf(readFragment(html), {})]
  const score = (paper: 'light' | 'dark') => {
    const ground = tint ? over(tint, papers[paper].ground) : papers[paper].ground
    const isReadable = (run: Run) =>
      contrast(over(run.color ?? papers[paper].text, run.ground ?? ground), over(run.ground ?? ground, ground)) >=
      readable
    return runs.reduce((sum, run) => sum + (isReadable(run) ? run.length : 0), 0)
  }
  const [light, dark] = [score('light'), score('dark')]
  if (light === dark) return undefined
  return light > dark ? 'light' : 'dark'
}

function runsOf(nodes: readonly CardNode[], around: { color?: Color; ground?: Color }): Run[] {
  return nodes.flatMap((node): Run[] => {
    if (typeof node === 'string') {
      const { length } = node.trim()
      return length === 0 ? [] : [{ length, color: around.color, ground: around.ground }]
    }
    if (node.name === 'svg') return []
    const style = styleOf(node)
    const color = readColor(style.get('color') ?? '')
    const ground = firstColor(
      `${style.get('background-color') ?? ''} ${style.get('background') ?? ''} ${style.get('background-image') ?? ''}`,
    )
    return runsOf(node.children, { ...around, ...(color && { color }), ...(ground && { ground }) })
  })
}

/** The first color of a gradient: the others are usually similar. A transparent one leaves the paper as it is. */
function firstColor(value: string): Color | undefined {
  for (const [text] of value.matchAll(/#[0-9a-f]{3,8}\b|(?:rgb|hsl)a?\([^()]*\)|\b[a-z]+\b/gi)) {
    const color = readColor(text)
    if (color) return color[3] >= 0.5 ? color : undefined
  }
  return undefined
}

const names: Readonly<Record<string, string>> = cardWords.paperColors

/** Common color notations; undefined for others, which are ignored. */
function readColor(text: string): Color | undefined {
  const color = text.trim().toLowerCase()
  const hex = /^#([0-9a-f]{3,4}|[0-9a-f]{6}|[0-9a-f]{8})$/.exec(
    Object.hasOwn(names, color) ? (names[color] ?? '') : color,
  )?.[1]
  if (hex !== undefined) {
    const digits = hex.length < 6 ? [...hex].map((digit) => digit + digit) : (hex.match(/../g) ?? [])
    const [red = 0, green = 0, blue = 0, alpha = 255] = digits.map((pair) => Number.parseInt(pair, 16))
    return [red, green, blue, alpha / 255]
  }
  const [, kind, inside = ''] = /^(rgb|hsl)a?\(([^()]*)\)$/.exec(color) ?? []
  if (kind === undefined) return undefined
  const parts = inside.split(/[\s,/]+/).filter((part) => part !== '')
  const [first = 0, second = 0, third = 0, alpha = 1] = parts.map((part, at) =>
    part.endsWith('%')
      ? (Number.parseFloat(part) / 100) * (at < 3 && kind === 'rgb' ? 255 : 1)
      : Number.parseFloat(part),
  )
  const read: Color = kind === 'rgb' ? [first, second, third, alpha] : [...fromHsl(first, second, third), alpha]
  return read.every(Number.isFinite) ? read : undefined
}

function fromHsl(hue: number, saturation: number, lightness: number): [number, number, number] {
  const channel = (offset: number) => {
    const at = (((offset + hue / 30) % 12) + 12) % 12
    return (
      255 * (lightness - saturation * Math.min(lightness, 1 - lightness) * Math.max(-1, Math.min(at - 3, 9 - at, 1)))
    )
  }
  return [channel(0), channel(8), channel(4)]
}

function over([red, green, blue, alpha]: Color, below: Color): Color {
  const mixed = [red, green, blue].map((value, at) => value * alpha + (below[at] ?? 0) * (1 - alpha))
  return [mixed[0] ?? 0, mixed[1] ?? 0, mixed[2] ?? 0, 1]
}

/** The contrast ratio of the accessibility guidelines: 1 to 21. */
function contrast(one: Color, other: Color): number {
  const [darker = 0, lighter = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b)
  return (lighter + 0.05) / (darker + 0.05)
}

function luminance([red, green, blue]: Color): number {
  const [r = 0, g = 0, b = 0] = [red, green, blue].map((value) => {
    const share = Math.min(255, Math.max(0, value)) / 255
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * r + 0.7152 * g + 0.0722 * b
}
