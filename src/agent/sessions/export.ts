import { createHash } from 'node:crypto'
import { Marked } from 'marked'
import sanitizeHtml from 'sanitize-html'
import { toDisplayText } from '../../base/text.ts'
import type { MediaPart } from '../../protocol/messages.ts'
import type { ExportFormat } from '../../protocol/organize.ts'
import { isAutomated } from '../../security/approvals.ts'
import type { LoggedEvent } from './session-event.ts'

/** A message or reply in a file. Reasoning, the input and output of tools, and recalled memories are not part of it. */
interface ExportedMessage {
  role: 'user' | 'assistant'
  at: string
  text: string
  /** The source of a message that the user did not write. */
  source?: string
  attachments?: string[]
  tools?: string[]
}

export interface ExportedConversation {
  title: string
  messages: ExportedMessage[]
  /** Those that an HTML file can include, in their order. */
  pictures: { message: number; part: MediaPart }[]
}

const pictureType = /^image\/(?:png|jpeg|gif|webp)$/

/** Collects the messages of a conversation from its events, in order. */
export function createTranscript(title: string) {
  const conversation: ExportedConversation = { title, messages: [], pictures: [] }
  const { messages, pictures } = conversation
  let made: MediaPart[] = []
  let said: string[] = []
  let tools: string[] = []

  function add(message: ExportedMessage, media: readonly MediaPart[]): void {
    const names = media.map(({ name }) => name)
    for (const part of media) if (pictureType.test(part.mediaType)) pictures.push({ message: messages.length, part })
    messages.push({ ...message, ...(names.length > 0 && { attachments: names }) })
  }

  return {
    conversation,
    add(event: LoggedEvent): void {
      const at = new Date(event.at).toISOString()
      if (event.type === 'message_received') {
        const source = isAutomated(event.source) && { source: event.source }
        add({ role: 'user', at, text: event.text, ...source }, event.media)
      } else if (event.type === 'tool_started') tools.push(event.name)
      else if (event.type === 'tool_finished') {
        made.push(...(event.media ?? []))
        if (event.says) said.push(event.says)
      } else if (event.type === 'turn_ended') {
        const texts = [...said, ...(event.deliver ? [event.text] : [])].filter(Boolean)
        const reply = { role: 'assistant' as const, at, text: texts.join('\n\n') }
        if (reply.text !== '' || made.length > 0) add({ ...reply, ...(tools.length > 0 && { tools }) }, made)
        made = []
        said = []
        tools = []
      }
    },
  }
}

export interface ExportNames {
  /** The authors of the messages and of the replies. */
  user: string
  agent: string
}

export function writeMarkdown(conversations: readonly ExportedConversation[], names: ExportNames): string {
  return conversations
    .map(({ title, messages }) => {
      const parts = messages.map(({ role, text, attachments = [] }) => {
        const files = attachments.map((name) => `*${oneLine(name).replaceAll('*', '\\*')}*`)
        return [`## ${role === 'user' ? names.user : names.agent}`, text, ...files].filter(Boolean).join('\n\n')
      })
      return `${[`# ${oneLine(title)}`, ...parts].join('\n\n')}\n`
    })
    .join('\n')
}

export function writeJson(conversations: readonly ExportedConversation[]): string {
  const plain = conversations.map(({ title, messages }) => ({ title, messages }))
  return `${JSON.stringify(plain.length === 1 ? plain[0] : { conversations: plain }, null, 2)}\n`
}

const style = `:root{color-scheme:light dark}
body{margin:0 auto;max-width:46rem;padding:1.5rem 1rem 4rem;font:1rem/1.6 system-ui,sans-serif;overflow-wrap:break-word}
h1{font-size:1.4rem}h2{font-size:.85rem;margin:1.8rem 0 .3rem;opacity:.7}h3,h4,h5,h6{font-size:1rem}
.user{border-inline-start:3px solid #6366f1;padding-inline-start:.9rem}
p{margin:.5rem 0}pre{overflow-x:auto;padding:.75rem;border-radius:.5rem;background:#8882}
code{font:.9em ui-monospace,monospace}img{max-width:100%;max-height:40rem;border-radius:.5rem}
table{border-collapse:collapse;display:block;overflow-x:auto}th,td{border:1px solid #8886;padding:.25rem .6rem}
blockquote{margin-inline-start:0;padding-inline-start:1rem;border-inline-start:3px solid #8886}
footer,.file{font-size:.8rem;opacity:.7}`

/** One page for everything: it runs no script and asks no server for anything. `dataOf` has the bytes of its pictures. */
export function writeHtml(
  conversations: readonly ExportedConversation[],
  names: ExportNames,
  dataOf: ReadonlyMap<string, Uint8Array>,
): string {
  const title = conversations.length === 1 ? (conversations[0]?.title ?? '') : `${conversations.length} conversations`
  const styleHash = createHash('sha256').update(style).digest('base64')
  const policy = `default-src 'none'; img-src data:; style-src 'sha256-${styleHash}'; base-uri 'none'; form-action 'none'`
  return [
    '<!doctype html>',
    '<html lang="en">',
    '<head>',
    '<meta charset="utf-8">',
    `<meta http-equiv="Content-Security-Policy" content="${policy}">`,
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<meta name="referrer" content="no-referrer">',
    `<title>${escapeHtml(title)}</title>`,
    `<style>${style}</style>`,
    '</head>',
    '<body>',
    ...conversations.map((conversation) => writeArticle(conversation, names, dataOf)),
    '</body>',
    '</html>',
    '',
  ].join('\n')
}

function writeArticle(
  { title, messages, pictures }: ExportedConversation,
  names: ExportNames,
  dataOf: ReadonlyMap<string, Uint8Array>,
): string {
  const sections = messages.map(({ role, at, text, attachments = [] }, index) => {
    const shown = pictures.filter(({ message, part }) => message === index && dataOf.has(part.hash))
    const images = shown.map(({ part }) => {
      const data = Buffer.from(dataOf.get(part.hash) ?? []).toString('base64')
      return `<p><img src="data:${part.mediaType};base64,${data}" alt="${escapeHtml(part.name)}"></p>`
    })
    const files = attachments
      .filter((name) => !shown.some(({ part }) => part.name === name))
      .map((name) => `<p class="file">${escapeHtml(name)}</p>`)
    const who = escapeHtml(role === 'user' ? names.user : names.agent)
    const time = `<time datetime="${at}">${at.slice(0, 16).replace('T', ' ')}</time>`
    return [
      `<section class="${role}">`,
      `<h2>${who} · ${time}</h2>`,
      `<div dir="auto">${markdownToHtml(text)}</div>`,
      ...images,
      ...files,
      '</section>',
    ].join('\n')
  })
  return `<article>\n<h1 dir="auto">${escapeHtml(title)}</h1>\n${sections.join('\n')}\n</article>`
}

/** No element of the text's own, and no picture from elsewhere. */
const markdown = new Marked({
  gfm: true,
  breaks: true,
  renderer: {
    html: ({ raw }) => escapeHtml(raw),
    image: ({ href, text }) => `${escapeHtml(text || 'image')} (${escapeHtml(href)})`,
  },
})

// Parsing emphasis takes time in the square of a paragraph's length for text that is made for it.
const maxParagraph = 8_000

/** The second protection: only these elements remain, whatever the library makes of a text. */
const allowed: sanitizeHtml.IOptions = {
  allowedTags:
    'p br hr strong em del code pre blockquote ul ol li h1 h2 h3 h4 h5 h6 table thead tbody tr th td a'.split(' '),
  allowedAttributes: { a: ['href', 'rel'], ol: ['start'] },
  allowedSchemes: ['http', 'https', 'mailto'],
  allowProtocolRelative: false,
  disallowedTagsMode: 'escape',
  transformTags: {
    a: (tagName, { href }) => ({ tagName, attribs: { ...(href && { href }), rel: 'noopener noreferrer nofollow' } }),
    // The page has headings of its own above these.
    h1: 'h3',
    h2: 'h3',
  },
}

export function markdownToHtml(text: string): string {
  const shown = toDisplayText(text)
  if (shown.split(/\n\s*\n/).some((paragraph) => paragraph.length > maxParagraph)) return asPlain(shown)
  try {
    return sanitizeHtml(markdown.parse(shown, { async: false }), allowed)
  } catch {
    return asPlain(shown)
  }
}

function asPlain(text: string): string {
  return `<pre>${escapeHtml(text)}</pre>`
}

function escapeHtml(text: string): string {
  return toDisplayText(text)
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;')
}

function oneLine(text: string): string {
  return toDisplayText(text).replaceAll(/\s+/g, ' ').trim()
}

export const exportTypes: Record<ExportFormat, string> = {
  md: 'text/markdown; charset=utf-8',
  json: 'application/json; charset=utf-8',
  html: 'text/html; charset=utf-8',
}

/** The name of a file of them, for any file system. */
export function exportName(conversations: readonly ExportedConversation[], format: ExportFormat): string {
  const [first] = conversations
  const title = conversations.length === 1 && first ? first.title : `${conversations.length} conversations`
  const plain = toDisplayText(title)
    .replaceAll(/[^\p{L}\p{N} ._-]+/gu, '_')
    .replaceAll(/\s+/g, ' ')
  const name = [...plain]
    .slice(0, 80)
    .join('')
    .replace(/^[. _]+/, '')
    .trim()
  return `${name || 'conversation'}.${format}`
}
