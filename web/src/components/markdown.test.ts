import fc from 'fast-check'
import { createElement } from 'react'
import { renderToStaticMarkup } from 'react-dom/server'
import { describe, expect, it } from 'vitest'
import { RawOnError } from './feedback.tsx'
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

  it('PAGE-3b footnotes link to their text and back, and a mark without a text is shown as written', () => {
    const html = shown('Rain[^1] and wind[^x].\n\n[^1]: From **Kiel**.')
    const [, mark = '', note = ''] = /<a id="([^"]+)" href="#([^"]+)" aria-label="Footnote 1"/.exec(html) ?? []
    expect(html).toContain(`<a id="${note}" href="#${mark}" aria-label="Back to the text"`)
    expect(html).toContain('<strong>Kiel</strong>')
    expect(html).toContain('wind[^x].')
    expect(shown('[^1]: alone')).toContain('[^1]: alone')
  })

  it('PAGE-3b prices, footnotes in code and list items keep their meaning', () => {
    expect(shown('It costs $5 and $6, or US$7.')).toContain('It costs $5 and $6, or US$7.')
    expect(shown('`a[^1]` and a[^1]\n\n[^1]: b')).toContain('<code>a[^1]</code>')
    expect(shown('1. one\n   - two\n     - [x] three\n2. four')).toMatch(
      /<ol[^>]*>.*<ul>.*<ul>.*<input type="checkbox".*four/s,
    )
  })

  it('PAGE-3 a link says where it leads, and a picture is a link', () => {
    expect(shown('[my bank](https://evil.example/x)')).toMatch(/my bank<\/a> <bdi[^>]*>\(evil\.example\)/)
    const picture = shown('![seen](https://evil.example/pixel.png)')
    expect(picture).not.toContain('<img')
    expect(picture).toMatch(/seen<\/a> <bdi[^>]*>\(evil\.example\)/)
  })

  it.each([
    '[https://mybank.example/](https://evil.test/)',
    '[https://mybank.example/ evil.test](https://evil.test/)',
    '[https://mybank.example/?evil.test](https://evil.test/)',
    '[mybank.example](https://evil.test/mybank.example)',
    '[evil.test.mybank.example](https://evil.test/)',
    '[https://mybank.example@evil.test/](https://mybank.example@evil.test/)',
    '<https://mybank.example@evil.test/>',
    '[**https://mybank.example**](https://evil.test/)',
    '[![https://mybank.example](https://evil.test/p.png)](https://evil.test/)',
  ])('PAGE-3 words that look like another address do not hide the host: %s', (text) => {
    expect(shown(text)).toMatch(/<bdi[^>]*>\(evil\.test\)<\/bdi>/)
  })

  it.each([
    '[https://fine.test/a](https://fine.test/a)',
    '<https://fine.test/a>',
    'https://fine.test/a',
    '[fine.test](https://fine.test/a)',
    '[fine.test/a](https://fine.test/a)',
    '<me@fine.test>',
  ])('PAGE-3 a link that is its own address is not repeated: %s', (text) => {
    expect(shown(text)).toContain('href')
    expect(shown(text)).not.toContain('<bdi')
  })

  it('PAGE-3 a host in another alphabet is shown as it is looked up', () => {
    expect(shown('[аpple.com](https://аpple.com/)')).toContain('(xn--pple-43d.com)')
  })

  it.each([
    ['“https://example.com” is', 'https://example.com/'],
    ['»https://example.com/a« is', 'https://example.com/a'],
    ['见https://example.com/a。然后', 'https://example.com/a'],
    ['‘see www.example.com’', 'http://www.example.com/'],
    ['https://example.com/ü?q=é', 'https://example.com/%C3%BC?q=%C3%A9'],
  ])('typographic punctuation ends an address: %s', (text, address) => {
    expect(/href="([^"]*)"/.exec(shown(text))?.[1]).toBe(address)
  })

  it.each([
    ['[x](mailto:%E0%A4%A)', '(%E0%A4%A)'],
    ['<a@b.example> [x](mailto:%ff)', '(%ff)'],
  ])('PAGE-3a a mailbox that is no valid text is shown as it is written: %s', (text, expected) => {
    expect(shown(text)).toContain(expected)
  })

  it('PAGE-3a tasks are checkboxes in the line of their text', () => {
    const html = shown('- [x] one **two**\n- [ ] three\n\n1. [ ] four\n\n   more')
    expect(html).toContain(
      '<li class="task"><input type="checkbox" readOnly="" tabindex="-1" aria-label="Done" checked=""/>one',
    )
    expect(html).toContain('aria-label="Not done"/>three')
    expect(html).toMatch(/<p><input [^>]*\/>four<\/p>/)
    expect(html).not.toContain('[x]')
    expect(html.match(/<input/g)).toHaveLength(3)
  })

  it.each([
    ['so $x^2$ is', ['x^2']],
    ['a $a_1$, $b_2$.', ['a_1', 'b_2']],
    ['(\\(e^{i\\pi}\\))', ['e^{i\\pi}']],
    ['text\n$$\nE = mc^2\n$$\nmore', ['E = mc^2']],
    ['\\[ \\int_0^1 x \\]', ['\\int_0^1 x']],
    ['- item $$x$$ here', ['x']],
    ['| a |\n|---|\n| $x$ |', ['x']],
  ])('PAGE-3a a formula is found: %s', (text, formulas) => {
    const found = [...shown(text).matchAll(/<code[^>]*>([^<]*)<\/code>/g)].map(([, tex]) => tex)
    expect(found).toEqual(formulas)
  })

  it.each([
    'between $5 and $10',
    'from $5-$10',
    'US$5 or AU$6$',
    '$5 a day or 10$ a week',
    'set $HOME and $PATH',
    '$HOME:$PATH',
    'it costs $5.',
    '\\$x\\$',
    'open $x and\n\nclosed$ later',
  ])('PAGE-3a money and variables are no formulas: %s', (text) => {
    expect(shown(text)).not.toContain('<code')
  })

  it('PAGE-3a no text breaks its drawing, and none becomes an element that runs or loads something', () => {
    const marks = fc.constantFrom(
      ...'# |* |_|`|```|~~~|$|$$|\\(|\\)|\\[|\\]|[|](|)|![|<|>|&|%|\n|\n\n|- [ ] |- |1. |> || a |\n|---|\n|mermaid\n'.split(
        '|',
      ),
      ...[
        '|',
        '\n|---|---|\n',
        'mailto:%E0%A4%A',
        'https://a.b/”',
        'http://[',
        'javascript:',
        '<img src=x>',
        '[memory:deadbeef]',
      ],
      ...['\\frac{1}{', '}', '^', '\\href{javascript:x}{y}', '\u202e', '\ud800', '\0'],
    )
    const text = fc
      .array(fc.oneof(marks, fc.string({ maxLength: 8 })), { maxLength: 30 })
      .map((pieces) => pieces.join(''))
    fc.assert(
      fc.property(text, (markdown) => {
        const html = shown(markdown)
        expect(html).not.toContain('could not be displayed')
        expect(html).not.toMatch(/<(script|img|iframe|style|link|object)[\s>]|href="(?!https?:|mailto:|\/memory\/)/i)
      }),
      { numRuns: 500 },
    )
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

  it('parses an unfinished text', () => {
    const whole =
      '## Title\n\n- a **bold** [link](https://example.org)\n\n```ts\nconst x = `1`\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |'
    for (let end = 0; end <= whole.length; end += 1) expect(() => shown(whole.slice(0, end))).not.toThrow()
  })

  it('PAGE-3a text that cannot be drawn is shown raw with a notice, and tried again when it changes', () => {
    const props = { raw: 'the **raw** text', children: null }
    const failed = RawOnError.getDerivedStateFromProps(props, RawOnError.getDerivedStateFromError())
    const boundary = new RawOnError(props)
    boundary.state = { failed: failed?.failed }
    const html = renderToStaticMarkup(boundary.render())
    expect(html).toContain('This could not be displayed.')
    expect(html).toContain('the **raw** text')
    expect(RawOnError.getDerivedStateFromProps(props, boundary.state)).toBeNull()
    const next = RawOnError.getDerivedStateFromProps({ ...props, raw: 'more' }, boundary.state)
    expect(next).toEqual({ failed: undefined })
  })
})
