import { isProbablyReaderable, Readability } from '@mozilla/readability'
import { parseHTML } from 'linkedom'
import TurndownService from 'turndown'
import { dropHidden } from './drop-hidden.ts'
import type { PageDocument, PageElement } from './page-dom.ts'

export interface PageText {
  title: string
  text: string
}

/** Below this what was taken for the article is more likely a part of it. */
const shortestArticle = 200

/**
 * What a reader would see of a page, as Markdown: the article where there is one, else all of it. Every link carries its
 * host. Takes as long and as much memory as the page makes it: only for a process of its own.
 */
export function htmlToMarkdown(html: string, address: string): PageText {
  const page = parse(html, address)
  const title = page.querySelector('title')?.textContent ?? ''
  if (!isProbablyReaderable(page)) return { title, text: toMarkdown(page.body) }
  return { title, text: toMarkdown(articleOf(page) ?? parse(html, address).body) }
}

/** Takes the page apart, so that what is wanted whole is parsed again. */
function articleOf(page: PageDocument): PageElement | undefined {
  try {
    const reader = new Readability<PageElement>(page, { serializer: (node) => node as unknown as PageElement })
    const article = reader.parse()
    return article?.content && (article.length ?? 0) >= shortestArticle ? article.content : undefined
  } catch {
    // It expects a tree that a browser would make: with a `head` inside a paragraph it finds nobody above the article.
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

/** The parser makes up no `body` of its own, so a piece of a page gets one. */
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
  // For a reader who sees the text itself, escaped marks are noise.
  turndown.escape = (text) => text
  turndown.remove('title')
  turndown.addRule('link', { filter: 'a', replacement: (content, node) => renderLink(content.trim(), hrefOf(node)) })
  turndown.addRule('image', { filter: 'img', replacement: (_content, node) => renderImage(node) })
  turndown.addRule('cell', { filter: ['td', 'th'], replacement: (content) => ` ${oneLine(content)} |` })
  turndown.addRule('row', { filter: 'tr', replacement: (content) => (content.trim() ? `\n|${content}` : '') })
  turndown.addRule('table', { filter: 'table', replacement: (content) => `\n\n${content.trim()}\n\n` })
  return turndown
}

function hrefOf(node: unknown): string {
  return (node as PageElement).getAttribute('href') ?? ''
}

function renderLink(content: string, href: string): string {
  if (content === '' || href === '') return content
  return content === href ? href : `[${oneLine(content)}](${href})`
}

/** An image is its description: nothing is loaded, and its address says little. */
function renderImage(node: unknown): string {
  const description = oneLine((node as PageElement).getAttribute('alt') ?? '')
  return description === '' ? '' : `[image: ${description}]`
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim()
}
