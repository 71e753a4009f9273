import { isProbablyReaderable, Readability } from '@mozilla/readability'
import { parseHTML } from 'linkedom'
import TurndownService from 'turndown'
import { oneLine } from '../../base/text.ts'

export interface PageText {
  title: string
  text: string
  /** For documents with pages, sheets or slides: how many were read. */
  pages?: { read: number; total: number } | undefined
}

/** A shorter result is more likely a part of the article. */
const shortestArticle = 200

/**
 * The visible content of a page as Markdown: the article if there is one, otherwise everything. Every link carries its
 * host. Time and memory depend on the page: only for a separate process.
 */
export function htmlToMarkdown(html: string, address: string): PageText {
  const page = parse(html, address)
  const title = page.querySelector('title')?.textContent ?? ''
  if (!isProbablyReaderable(page)) return { title, text: toMarkdown(page.body) }
  return { title, text: toMarkdown(articleOf(page) ?? parse(html, address).body) }
}

/** Modifies the page, so the whole page must be parsed again. */
function articleOf(page: PageDocument): PageElement | undefined {
  try {
    const reader = new Readability<PageElement>(page, { serializer: (node) => node as unknown as PageElement })
    const article = reader.parse()
    return article?.content && (article.length ?? 0) >= shortestArticle ? article.content : undefined
  } catch {
    // It expects a tree as from a browser: with a `head` inside a paragraph it finds no parent of the article.
    return undefined
  }
}

function parse(html: string, address: string): PageDocument {
  const page = parseWhole(html)
  dropHidden(page)
  const base = baseOf(page, address)
  for (const link of page.querySelectorAll('a[href]')) {
    const target = link.getAttribute('href') ?? ''
    const url = URL.canParse(target, base) ? new URL(target, base) : undefined
    if (url?.protocol === 'http:' || url?.protocol === 'https:') link.setAttribute('href', url.href)
    else link.removeAttribute('href')
  }
  return page
}

/** The parser adds no `body`, so a fragment gets one. */
function parseWhole(html: string): PageDocument {
  const given = parseHTML(html).document as unknown as PageDocument
  if (given.documentElement?.localName === 'html' && given.querySelector('body')) return given
  const whole = `<!doctype html><html><head></head><body>${html}</body></html>`
  return parseHTML(whole).document as unknown as PageDocument
}

function baseOf(page: PageDocument, address: string): string {
  const given = page.querySelector('base[href]')?.getAttribute('href') ?? ''
  return URL.canParse(given, address) ? new URL(given, address).href : address
}

function toMarkdown(element: PageElement | null | undefined): string {
  if (!element) return ''
  return createTurndown()
    .turndown(element as unknown as TurndownService.Node)
    .replaceAll(/[ \t]+\n/g, '\n')
    .replaceAll(/\n{3,}/g, '\n\n')
    .trim()
}

function createTurndown(): TurndownService {
  const turndown = new TurndownService({
    headingStyle: 'atx',
    codeBlockStyle: 'fenced',
    bulletListMarker: '-',
    emDelimiter: '*',
  })
  // Escaped marks are noise for a reader of the plain text.
  turndown.escape = (text) => text
  turndown.remove('title')
  turndown.addRule('link', { filter: 'a', replacement: (content, node) => renderLink(content.trim(), node) })
  turndown.addRule('image', { filter: 'img', replacement: (_content, node) => renderImage(node) })
  turndown.addRule('cell', { filter: ['td', 'th'], replacement: (content) => ` ${oneLine(content)} |` })
  turndown.addRule('row', { filter: 'tr', replacement: (content) => (content.trim() ? `\n|${content}` : '') })
  turndown.addRule('table', { filter: 'table', replacement: (content) => `\n\n${content.trim()}\n\n` })
  return turndown
}

function renderLink(content: string, node: unknown): string {
  const href = (node as PageElement).getAttribute('href') ?? ''
  if (content === '' || href === '') return content
  return content === href ? href : `[${oneLine(content)}](${href})`
}

/** An image becomes its description: nothing is loaded, and its address says little. */
function renderImage(node: unknown): string {
  const description = oneLine((node as PageElement).getAttribute('alt') ?? '')
  return description === '' ? '' : `[image: ${description}]`
}

const neverShown =
  'script,style,noscript,template,iframe,frame,object,embed,applet,canvas,svg,math,audio,video,input,select,datalist,' +
  'textarea,dialog:not([open]),[hidden],[aria-hidden="true"]'

const zero = /^[+-]?0*\.?0*(px|em|rem|%|pt|vw|vh)?$/
const farAway = /^-\d{3,}/

/** Style values that hide an element. Style sheets are not read. */
const hides: Record<string, (value: string) => boolean> = {
  display: (value) => value === 'none',
  visibility: (value) => value === 'hidden' || value === 'collapse',
  color: (value) => value === 'transparent',
  transform: (value) => /^scale[xy]?\(0[,)]/.test(value),
  'clip-path': (value) => /^inset\((50|100)%/.test(value),
  clip: (value) => /^rect\([01](px)?[, ]/.test(value),
}
for (const name of ['opacity', 'font-size', 'width', 'height', 'max-width', 'max-height']) {
  hides[name] = (value) => zero.test(value)
}
for (const name of ['text-indent', 'left', 'top']) hides[name] = (value) => farAway.test(value)

/** Removes invisible text, the usual place for prompt injection. This is no guarantee: the rest is still untrusted. */
function dropHidden(root: PageElement): void {
  for (const element of [...root.querySelectorAll(neverShown)]) element.remove()
  for (const element of [...root.querySelectorAll('[style]')]) if (isHidden(element)) element.remove()
}

function isHidden(element: PageElement): boolean {
  const declarations = (element.getAttribute('style') ?? '').slice(0, 2_000).toLowerCase().split(';')
  return declarations.some((declaration) => {
    const colon = declaration.indexOf(':')
    const property = declaration.slice(0, Math.max(0, colon)).trim()
    const value = declaration
      .slice(colon + 1)
      .replace('!important', '')
      .trim()
    return Object.hasOwn(hides, property) && hides[property]?.(value) === true
  })
}

/** The small part of the DOM that is needed: the project's types have none. */
interface PageElement {
  readonly localName: string
  readonly textContent: string | null
  getAttribute(name: string): string | null
  hasAttribute(name: string): boolean
  setAttribute(name: string, value: string): void
  removeAttribute(name: string): void
  querySelectorAll(selector: string): Iterable<PageElement>
  querySelector(selector: string): PageElement | null
  remove(): void
}

interface PageDocument extends PageElement {
  readonly documentElement: PageElement | null
  readonly body: PageElement | null
}
