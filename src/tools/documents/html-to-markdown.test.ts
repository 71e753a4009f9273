import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { htmlToMarkdown } from './html-to-markdown.ts'

const address = 'https://example.com/dir/page'

function textOf(html: string): string {
  return htmlToMarkdown(html, address).text
}

const paragraph = `<p>${'A sentence of the article that is long enough to count, with commas, as articles have. '.repeat(6)}</p>`

describe('htmlToMarkdown', () => {
  it('extracts the article from its surroundings', () => {
    const { title, text } = htmlToMarkdown(
      `<html><head><title>News of the day</title></head><body><nav><a href="/">Home</a> <a href="/b">Sport</a></nav>
       <article><h1>News</h1>${paragraph.repeat(4)}</article><footer>Imprint, cookies</footer></body></html>`,
      address,
    )
    expect(title).toBe('News of the day')
    expect(text).toContain('A sentence of the article')
    expect(text).not.toContain('Imprint')
    expect(text).not.toContain('Sport')
  })

  it('returns the whole page if there is no article', () => {
    const text = textOf('<title>T</title><h2>Menu</h2><ul><li>Tea <b>2 €</b><li>Cake</ul><p>Open 9–5')
    expect(text).toBe('## Menu\n\n-   Tea **2 €**\n-   Cake\n\nOpen 9–5')
  })

  it('SEC-7 shows the host of every link, and loads and runs nothing', () => {
    const text = textOf(`
      <a href="other?x=1#y">one</a> <a href="//evil.example/z">two</a> <a href="javascript:alert(1)">three</a>
      <a href="data:text/html,x">four</a> <a href="https://example.org/">https://example.org/</a> <a href="http://[">five</a>
      <img src="https://evil.example/pixel.gif?secret" alt="A  picture"><img src="https://evil.example/no-words.gif">`)
    expect(text).toContain('[one](https://example.com/dir/other?x=1#y)')
    expect(text).toContain('[two](https://evil.example/z)')
    expect(text).toContain('three')
    expect(text).toContain('five')
    expect(text).toContain('[image: A picture]')
    expect(text).not.toMatch(/javascript:|data:|pixel|no-words|\]\(http:\/\/\[/)
  })

  it('uses the base address of the page', () => {
    expect(textOf('<base href="https://other.example/a/"><a href="b">x</a>')).toBe('[x](https://other.example/a/b)')
  })

  it('keeps the rows of a table', () => {
    expect(textOf('<table><tr><th>Day<th>Price<tr><td>Mon<td>4\n€</table>')).toBe('| Day | Price |\n| Mon | 4 € |')
  })

  it.each([
    '<p style="display:none">HIDDEN</p>',
    '<p style="color:red; DISPLAY : None !important">HIDDEN</p>',
    '<p style="visibility:hidden">HIDDEN</p>',
    '<p style="opacity:0.0">HIDDEN</p>',
    '<p style="font-size:0px">HIDDEN</p>',
    '<p style="height:0;overflow:hidden">HIDDEN</p>',
    '<p style="position:absolute;left:-9999px">HIDDEN</p>',
    '<p style="text-indent:-5000px">HIDDEN</p>',
    '<p style="color:transparent">HIDDEN</p>',
    '<p style="clip-path:inset(100%)">HIDDEN</p>',
    '<p style="transform:scale(0)">HIDDEN</p>',
    '<p hidden>HIDDEN</p>',
    '<p aria-hidden="true">HIDDEN</p>',
    '<!-- HIDDEN -->',
    '<script>HIDDEN</script>',
    '<style>HIDDEN</style>',
    '<template>HIDDEN</template>',
    '<noscript>HIDDEN</noscript>',
    '<input type="hidden" value="HIDDEN">',
    '<svg><text>HIDDEN</text></svg>',
    '<iframe srcdoc="HIDDEN">HIDDEN</iframe>',
  ])('drops invisible text: %s', (hidden) => {
    const text = textOf(`<p>Seen before</p>${hidden}<p style="width:50%;left:0">Seen after</p>`)
    expect(text).toContain('Seen before')
    expect(text).toContain('Seen after')
    expect(text).not.toContain('HIDDEN')
  })

  it('no broken page makes it throw', () => {
    const piece = fc.oneof(
      fc.string(),
      fc.constantFrom(
        ...['<p>', '</p>', '<div', '<table><tr>', '</table>', '<a href="', '">', '<!--', '-->', '<![CDATA[', '<svg>'],
        ...['<html>', '<body>', '</body>', '<head>', '</html>', '<script>', '</script', '<ul><li>', '<pre><code>', '<'],
        ...[
          '<a href=x>',
          '<img alt=y>',
          '<base href=":">',
          '<article>',
          paragraph,
          '&#x0;',
          '&bogus;',
          '\u0000',
          '<td>',
        ],
      ),
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
        expect(typeof textOf(pieces.join(''))).toBe('string')
      }),
      // In the first one the article reader finds no parent of the article.
      { numRuns: 300, examples: [[['</html>', '<p>', '<head>', paragraph]]] },
    )
  })
})
