import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { frameAttributes, frameDocument, framePageHeaders, framePagePolicy } from './frame-document.ts'

const card = {
  title: 'A <b> & "c"',
  html: '<p>Hello</p>',
  text: '',
  accentColor: '#6c63ff',
  backgroundColor: 'rgba(108, 99, 255, 0.10)',
  icon: 'fa-star',
}

describe('frameDocument', () => {
  it('CARD-1 the frame has no permissions, the document loads and runs nothing', () => {
    expect(frameAttributes.sandbox).toBe('')
    const policy = /http-equiv="Content-Security-Policy" content="([^"]*)"/.exec(frameDocument(card))?.[1] ?? ''
    const [style] = /'sha256-[^']*'/.exec(policy) ?? []
    expect(policy.split('; ')).toEqual([
      `default-src 'none'`,
      'img-src data:',
      `style-src-elem ${style}`,
      `style-src-attr 'unsafe-inline'`,
      `form-action 'none'`,
      `base-uri 'none'`,
    ])
    expect(framePagePolicy['frame-src']).toBe(`'none'`)
    expect(framePagePolicy['style-src-elem']).toContain(style)
    expect(framePageHeaders).toEqual({ 'connection-allowlist': '(response-origin)' })
  })

  it('CARD-1 the only style sheet is the one in the policy', () => {
    const document = frameDocument(card)
    const style = /<style>([\s\S]*?)<\/style>/.exec(document)?.[1] ?? ''
    expect(document).toContain(`'sha256-${createHash('sha256').update(style).digest('base64')}'`)
  })

  it('CARD-2 shows title, icon, accent and background, as text', () => {
    const document = frameDocument(card)
    expect(document).toContain('<title>A &lt;b&gt; &amp; &quot;c&quot;</title>')
    expect(document).toContain('<header><span aria-hidden="true">⭐</span> A &lt;b&gt; &amp; &quot;c&quot;</header>')
    expect(document).toContain('style="--accent: #6c63ff; --tint: rgba(108, 99, 255, 0.10)"')
    expect(document).toContain('<main><p>Hello</p></main>')
  })

  it('CARD-1 an invalid color is dropped, whatever made the card', () => {
    const document = frameDocument({ ...card, accentColor: 'red; background: url(x)', backgroundColor: '"><b>' })
    expect(document).toContain('<body style="">')
  })

  it('CARD-2 has no heading if there is nothing to show', () => {
    const document = frameDocument({ ...card, title: '', icon: null, accentColor: null, backgroundColor: null })
    expect(document).not.toContain('<header>')
    expect(document).toContain('<body style="">')
  })

  it.each([
    ['light text', { html: '<p style="color:#fff">Hello there</p>' }, 'dark'],
    ['light text by name', { html: '<div style="color:white"><p>Hello there</p></div>' }, 'dark'],
    ['dark text', { html: '<p style="color:rgb(20, 20, 20)">Hello there</p>' }, 'light'],
    ['a dark ground', { html: '<p>Hello there</p>', backgroundColor: '#1a1a2e' }, 'dark'],
    ['a light ground', { html: '<p>Hello there</p>', backgroundColor: 'hsl(40, 100%, 95%)' }, 'light'],
    ['a light tint', { html: '<p>Hello there</p>', backgroundColor: 'rgba(255, 0, 0, 0.08)' }, undefined],
    ['light text on its own ground', { html: '<p style="background:#222;color:#eee">Hello there</p>' }, undefined],
    ['no colors', { html: '<p>Hello there</p>' }, undefined],
    ['a color between', { html: '<p style="color:#808080">Hello there</p>' }, undefined],
  ])('CARD-3 the paper fits the colors of the card: %s', (_, part, paper) => {
    const html = frameDocument({ ...card, title: '', backgroundColor: null, ...part })
    expect(/<html(?: data-paper="(\w+)")?>/.exec(html)?.[1]).toBe(paper)
  })
})
