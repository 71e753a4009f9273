import { createHash } from 'node:crypto'
import type { Card } from '../protocol/card.ts'
import { iconPicture } from './card-icon.ts'
import { cssColour } from './css-colour.ts'
import { frameStyle } from './frame-style.ts'
import { escapeHtml } from './write-fragment.ts'

const styleHash = `'sha256-${createHash('sha256').update(frameStyle).digest('base64')}'`

/** Nothing is loaded, run, sent or embedded; the one style sheet and the styles of elements are let in. */
const policy = [
  `default-src 'none'`,
  'img-src data:',
  `style-src-elem ${styleHash}`,
  `style-src-attr 'unsafe-inline'`,
  `form-action 'none'`,
  `base-uri 'none'`,
].join('; ')

/** For the element that shows the document: an origin of its own, and none of the rights that a frame can be given. */
export const frameAttributes: Readonly<Record<string, string>> = { sandbox: '', referrerpolicy: 'no-referrer' }

/**
 * What the page around the frame must send in its own policy. A document cannot forbid itself to navigate: without
 * `frame-src 'none'` a click on a link that got this far would load it into the frame. The styles are named because the
 * document of a frame inherits the policy of its page.
 */
export const framePagePolicy: Readonly<Record<string, string>> = {
  'frame-src': `'none'`,
  'img-src': `'self' data:`,
  'style-src-elem': `'self' ${styleHash}`,
  'style-src-attr': `'unsafe-inline'`,
}

/**
 * What the page around the frame must send beside its policy. No policy of content holds back the looking up of a name
 * or an early connection (`dns-prefetch`, `preconnect`); this header does, in the browsers that know it, and the frame
 * inherits it.
 */
export const framePageHeaders: Readonly<Record<string, string>> = { 'connection-allowlist': '(response-origin)' }

/**
 * The whole document of a card, for `srcdoc` of a frame with `frameAttributes`. It holds even where the HTML of the card
 * was never sanitised.
 */
export function frameDocument({ title, html, icon, accentColor, backgroundColor }: Card): string {
  const picture = iconPicture(icon)
  const heading = [picture && `<span aria-hidden="true">${escapeHtml(picture)}</span>`, title && escapeHtml(title)]
  const header = heading.some(Boolean) ? `<header>${heading.filter(Boolean).join(' ')}</header>` : ''
  const accent = cssColour(accentColor ?? '')
  const tint = cssColour(backgroundColor ?? '')
  const colours = [accent && `--accent: ${accent}`, tint && `--tint: ${tint}`]
  return [
    '<!doctype html><html><head><meta charset="utf-8">',
    `<meta http-equiv="Content-Security-Policy" content="${escapeHtml(policy)}">`,
    '<meta http-equiv="x-dns-prefetch-control" content="off">',
    '<meta name="referrer" content="no-referrer"><meta name="viewport" content="width=device-width">',
    `<title>${escapeHtml(title)}</title><style>${frameStyle}</style></head>`,
    `<body style="${escapeHtml(colours.filter(Boolean).join('; '))}">${header}<main>${html}</main></body></html>`,
  ].join('\n')
}
