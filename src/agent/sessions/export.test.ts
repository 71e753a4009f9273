import fc from 'fast-check'
import { parseDocument } from 'htmlparser2'
import { describe, expect, it } from 'vitest'
import {
  createTranscript,
  type ExportedConversation,
  exportName,
  markdownToHtml,
  writeHtml,
  writeJson,
  writeMarkdown,
} from './export.ts'

const names = { user: 'Ada', agent: 'Familiar' }
const at = '2026-11-19T08:00:00.000Z'

function conversation(title: string, ...texts: string[]): ExportedConversation {
  const messages = texts.map((text, index) => ({
    role: index % 2 ? ('assistant' as const) : ('user' as const),
    at,
    text,
  }))
  return { title, messages, pictures: [] }
}

const elements = new Set(
  `html head meta title style body article section h1 h2 h3 h4 h5 h6 time div p br hr strong em del code pre blockquote
  ul ol li table thead tbody tr th td a img`.split(/\s+/),
)

interface Element {
  name?: string
  attribs?: Record<string, string>
  children?: Element[]
}

/** Everything in it is an element of the list with attributes that load and run nothing. */
function expectHarmless(html: string): void {
  const all: Element[] = [parseDocument(html) as unknown as Element]
  for (const { name, attribs = {}, children = [] } of all) {
    all.push(...children)
    if (name === undefined || name === '!doctype') continue
    expect([...elements]).toContain(name)
    for (const [key, value] of Object.entries(attribs)) {
      expect(key).not.toMatch(/^on|^style$|^srcset$/i)
      if (key === 'src') expect(value).toMatch(/^data:image\/(?:png|jpeg|gif|webp);base64,/)
      if (key === 'href') expect(value).toMatch(/^(?:https?:|mailto:|[^:]*$)/i)
    }
  }
}

const hostile = [
  '<script>alert(1)</script>',
  '<img src=x onerror=alert(1)>',
  '![x](https://evil.example/track.png)',
  '[x](javascript:alert(1))',
  '[x](data:text/html,<script>alert(1)</script>)',
  '</title><script>alert(1)</script>',
  '--><svg onload=alert(1)>',
  '<style>@import url(https://evil.example)</style>',
  '```\n</code></pre><script>alert(1)</script>\n```',
  '<a href="x" onclick="alert(1)">x</a>',
  '\u0000\u202e\ud800',
  '| a | b |\n|---|---|\n| <iframe src=//evil.example> | **b** |',
]

describe('exported conversations', () => {
  it('ORG-4 an HTML page of any titles and texts runs and loads nothing', () => {
    const text = fc.oneof(
      fc.constantFrom(...hostile),
      fc.string({ unit: 'binary', maxLength: 200 }),
      fc
        .array(fc.constantFrom(...hostile, '*', '_', '`', '[', '](', '<', '"', '\n\n', '> ', '1. '), { maxLength: 12 })
        .map((parts) => parts.join('')),
    )
    fc.assert(
      fc.property(text, fc.array(text, { maxLength: 4 }), (title, texts) => {
        const html = writeHtml([conversation(title, ...texts)], { user: title, agent: title }, new Map())
        expectHarmless(html)
        expect(html.match(/Content-Security-Policy/g)).toHaveLength(1)
        // Any exporter: no text breaks it, and the JSON is read back as it was.
        expect(writeMarkdown([conversation(title, ...texts)], names).startsWith('# ')).toBe(true)
        const read = JSON.parse(writeJson([conversation(title, ...texts)])) as ExportedConversation
        expect(read.messages.map((message) => message.text)).toEqual(texts)
        expect(exportName([conversation(title)], 'md')).toMatch(/^[\p{L}\p{N}_-][\p{L}\p{N} ._-]*\.md$/u)
      }),
    )
  })

  it('ORG-4 Markdown becomes HTML, and a picture of a message is part of the page', () => {
    expect(markdownToHtml('# Cake\n\n- **flour**\n- [shop](https://shop.example)')).toBe(
      '<h3>Cake</h3>\n<ul>\n<li><strong>flour</strong></li>\n<li><a href="https://shop.example" rel="noopener noreferrer nofollow">shop</a></li>\n</ul>\n',
    )
    const part = { type: 'media', hash: 'a', mediaType: 'image/png', name: 'cake "1".png', bytes: 3 } as const
    const one = conversation('Cake', 'Look')
    one.pictures.push({ message: 0, part })
    const [message] = one.messages
    if (message) message.attachments = ['cake "1".png', 'recipe.pdf']
    const html = writeHtml([one], names, new Map([['a', new Uint8Array([1, 2, 3])]]))
    expect(html).toContain('<img src="data:image/png;base64,AQID" alt="cake &quot;1&quot;.png">')
    expect(html).toContain('<p class="file">recipe.pdf</p>')
    expectHarmless(html)
  })

  it('ORG-4 a paragraph that would take long to parse is shown as it is', () => {
    expect(markdownToHtml('_a '.repeat(20_000))).toMatch(/^<pre>_a _a /)
  })

  it('ORG-4 a transcript has messages and delivered replies, without reasoning and tool output', () => {
    const { conversation: told, add } = createTranscript('Title')
    const of = { seq: 1, turnId: 't', at: 0 }
    const received = { sender: 'a', source: 'web', tier: 'full', metadata: {}, media: [] }
    add({ ...of, type: 'message_received', messageId: 'm', text: 'Hello', ...received })
    add({ ...of, type: 'tool_started', callId: 'c', name: 'web_search', input: {}, effect: 'idempotent' })
    add({ ...of, type: 'tool_finished', callId: 'c', name: 'web_search', text: 'secret output', isError: false })
    const ended = { outcome: 'completed' as const, question: null, toolCalls: [] }
    add({ ...of, type: 'turn_ended', text: 'Hi', deliver: true, ...ended })
    add({ ...of, type: 'turn_ended', text: 'NO_REPLY', deliver: false, ...ended })
    expect(told.messages.map(({ role, text, tools }) => [role, text, tools])).toEqual([
      ['user', 'Hello', undefined],
      ['assistant', 'Hi', ['web_search']],
    ])
  })
})
