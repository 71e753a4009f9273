import { createElement } from 'react'
import { renderToStaticMarkup } from 'react-dom/server'
import { describe, expect, it } from 'vitest'
import { Markdown } from './markdown.tsx'

const shown = (text: string) => renderToStaticMarkup(createElement(Markdown, { text }))

describe('Markdown', () => {
  it.each([
    ['<script>alert(1)</script>', '&lt;script&gt;alert(1)&lt;/script&gt;'],
    ['a <img src=x onerror=alert(1)> b', '&lt;img src=x onerror=alert(1)&gt;'],
    ['<details open ontoggle=alert(1)>', '&lt;details open ontoggle=alert(1)&gt;'],
    ['`<b>code</b>`', '&lt;b&gt;code&lt;/b&gt;'],
    ['```html\n<img onload=alert(1)>\n```', '&lt;img onload=alert(1)&gt;'],
    ['| <i>a</i> |\n|---|\n| <u>b</u> |', '&lt;u&gt;b&lt;/u&gt;'],
  ])('PAGE-3 HTML is shown as it is written: %s', (text, expected) => {
    const html = shown(text)
    expect(html).toContain(expected)
    expect(html).not.toMatch(/<(script|img|details|b|i|u)[\s>]/)
  })

  it.each([
    '[click](javascript:alert(1))',
    '[click](JaVaScRiPt:alert(1))',
    '[click](data:text/html,<script>alert(1)</script>)',
    '[click](vbscript:x)',
    '[click](file:///etc/passwd)',
    '[click](blob:http://127.0.0.1/x)',
    '[click](/api/v1/sessions)',
    '<javascript:alert(1)>',
  ])('PAGE-3 %s is no link', (text) => {
    expect(shown(text)).not.toContain('href')
  })

  it('PAGE-3 a link says where it leads, and a picture is a link', () => {
    expect(shown('[my bank](https://evil.example/x)')).toContain('my bank (evil.example)')
    const picture = shown('![seen](https://evil.example/pixel.png)')
    expect(picture).not.toContain('<img')
    expect(picture).toContain('seen (evil.example)')
  })

  it('PAGE-3 characters written as entities stay what they say', () => {
    expect(shown('AT&T &lt;b&gt; R&D')).toContain('AT&amp;T')
    expect(shown('&lt;b&gt;x&lt;/b&gt;')).not.toContain('<b>')
  })

  it('keeps headings below the page’s own, lists, tasks, tables and quotes', () => {
    const html = shown('# One\n\n1. a\n2. b\n\n- [x] done\n\n> said\n\n| a |\n|---|\n| 1 |')
    expect(html).toContain('<h2>One</h2>')
    expect(html).toContain('<ol start="1">')
    expect(html).toContain('type="checkbox"')
    expect(html).toContain('<blockquote>')
    expect(html).toContain('<th scope="col">a</th>')
  })

  it('takes half a text as it comes', () => {
    const whole =
      '## Title\n\n- a **bold** [link](https://example.org)\n\n```ts\nconst x = `1`\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |'
    for (let end = 0; end <= whole.length; end += 1) expect(() => shown(whole.slice(0, end))).not.toThrow()
  })
})
