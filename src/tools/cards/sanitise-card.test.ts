import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { tagSoup } from '../../../test/security/cards/tag-soup.ts'
import { allVectors } from '../../../test/security/cards/vectors/all-vectors.ts'
import { pictureAddresses, sanitiseCard } from './make-card.ts'

describe('sanitiseCard', () => {
  it('CARD-1 keeps styles, details, tables, lists and drawings', () => {
    const html = [
      '<div style="padding:16px;font-family:\'Segoe UI\',sans-serif;background:linear-gradient(90deg,#fff 0%,rgba(1,2,3,0.5))">',
      '<h2>Title</h2><p>Text with <b>weight</b>, <code>code</code> &amp; entities</p>',
      '<details open=""><summary>More</summary><ul><li>one</li><li>two<ol start="3"><li>three</li></ol></li></ul></details>',
      '<table><caption>Table</caption><thead><tr><th scope="col">A</th></tr></thead><tbody><tr><td colspan="2">1</td></tr></tbody></table>',
      '<svg viewbox="0 0 10 10" width="100%"><defs><lineargradient id="card-g" x1="0" x2="1"><stop offset="0%" stop-color="#f00"></stop></lineargradient></defs>',
      '<path d="M0 0L10 10Z" fill="url(#card-g)"></path><text x="1" y="2" text-anchor="middle">label</text></svg>',
      '<img src="data:image/png;base64,iVBORw0KGgo=" alt="a picture" width="10">',
      '</div>',
    ].join('')
    expect(sanitiseCard(html)).toBe(html)
  })

  const cases: [name: string, html: string, expected: string][] = [
    [
      'a link shows its host and leads nowhere',
      '<a href="https://user:pw@Example.com/x?y=1">here</a>',
      '<a title="https://example.com/x?y=1">here <bdi>(example.com)</bdi></a>',
    ],
    [
      'a link that shows its address is left alone',
      '<a href="https://example.com">https://example.com</a>',
      '<a title="https://example.com/">https://example.com</a>',
    ],
    [
      'a host of other letters is shown as what it is',
      '<a href="https://аpple.com">Apple</a>',
      '<a title="https://xn--pple-43d.com/">Apple <bdi>(xn--pple-43d.com)</bdi></a>',
    ],
    [
      'a mailbox is shown',
      '<a href="mailto:a@b.example?subject=x">write</a>',
      '<a title="mailto:a@b.example">write <bdi>(a@b.example)</bdi></a>',
    ],
    [
      'a link to anything else is text',
      '<a href="javascript:x">a</a><a href="/x">b</a><a href="#x">c</a>',
      '<a>a</a><a>b</a><a>c</a>',
    ],
    [
      'ids keep to themselves',
      '<svg><linearGradient id="location"/><rect fill="url(#location)"/></svg><p id="x" class="y" name="z">t</p>',
      '<svg><lineargradient id="card-location"></lineargradient><rect fill="url(#card-location)"></rect></svg><p>t</p>',
    ],
    [
      'a picture from elsewhere is named',
      '<img src="https://example.com/x.png" alt="A cat"><img src="data:image/svg+xml;base64,PHN2Zz4=">',
      'A cat',
    ],
    [
      'a block in a paragraph makes it a block',
      '<p style="color:red"><b><div>x</div></b></p>',
      '<div style="color:red"><b><div>x</div></b></div>',
    ],
    [
      'a table has its parts',
      '<table><tr><td>1<td>2</table>',
      '<table><tbody><tr><td>1</td><td>2</td></tr></tbody></table>',
    ],
    [
      'what is not of a table comes before it',
      '<table>text<tr><b>x</b><td>1</table>',
      'text<b>x</b><table><tbody><tr><td>1</td></tr></tbody></table>',
    ],
    ['parts of a table alone are text', '<tr><td>1</td></tr>', '1'],
    [
      'an item of no list is a block',
      '<li>a</li><ul><li>b<div><li>c</li></div></li></ul>',
      '<div>a</div><ul><li>b<div><div>c</div></div></li></ul>',
    ],
    [
      'a drawing holds shapes only',
      '<svg><rect/><p>x</p><a href="https://e.example"><circle/></a>text</svg>',
      '<svg><rect></rect></svg>',
    ],
    [
      'styles lose what loads',
      '<p style="color:red;background:url(x);width:10px!important;position:fixed;--x:1">t</p>',
      '<p style="color:red;width:10px">t</p>',
    ],
    ['direction marks and controls go', 'a&#x202e;b\u0007c<p title="x&#x202e;y">t</p>', 'abc<p title="xy">t</p>'],
    [
      'no content of script, style or title is left',
      'a<script>b</script><style>c</style><title>d</title><textarea>e</textarea>f',
      'af',
    ],
  ]
  for (const [name, html, expected] of cases) it(`CARD-1 ${name}`, () => expect(sanitiseCard(html)).toBe(expected))

  it('CARD-1 sanitizing is idempotent', () => {
    for (const { html } of allVectors) expect(sanitiseCard(sanitiseCard(html))).toBe(sanitiseCard(html))
    fc.assert(
      fc.property(tagSoup, (html) => {
        const once = sanitiseCard(html)
        expect(sanitiseCard(once)).toBe(once)
      }),
      { numRuns: 2_000 },
    )
  })

  it('SEC-18 oversized cards are reported as such, before and after', () => {
    expect(sanitiseCard('x'.repeat(300_000))).toMatch(/too large/)
    expect(sanitiseCard('&'.repeat(200_000))).toMatch(/too large/)
    expect(sanitiseCard('<p>'.repeat(15_000))).toMatch(/too large/)
    expect(sanitiseCard(sanitiseCard('x'.repeat(300_000)))).toBe(sanitiseCard('x'.repeat(300_000)))
  })

  it('SEC-18 depth is limited, and deep text is kept', () => {
    const deep = sanitiseCard(`${'<div>'.repeat(5_000)}bottom`)
    expect(deep).toContain('bottom')
    expect(deep.split('<div>').length).toBeLessThan(60)
    expect(sanitiseCard(deep)).toBe(deep)
  })

  const slides = (...styles: string[]) =>
    styles.map((style, at) => `<div style="${style}">Slide ${at + 1}</div>`).join('')
  it.each([
    ['hidden', `<div>${slides('display:block', 'display:none', 'display: NONE; color:red')}</div>`],
    ['faded out', `<div>${slides('opacity:1', 'opacity:0', 'visibility:hidden;opacity:0.0')}</div>`],
    [
      'on top of each other',
      `<div style="position:relative;height:200px">${slides(...Array(3).fill('position:absolute;top:0;left:0;width:100%'))}</div>`,
    ],
    [
      'in a strip behind a window',
      `<div style="overflow:hidden;height:90px"><div style="display:flex;width:300%;transform:translateX(-33%)">${slides(...Array(3).fill('width:33.33%'))}</div></div>`,
    ],
    [
      'in a row behind a window',
      `<div style="display:flex;overflow-x:hidden">${slides(...Array(3).fill('flex:0 0 100%'))}</div>`,
    ],
  ])('CARD-3 all slides of a carousel are shown: %s', (_, html) => {
    const card = sanitiseCard(html)
    for (const number of [1, 2, 3]) expect(card).toContain(`Slide ${number}`)
    expect(card).not.toMatch(/display:none|visibility|opacity:0|position:absolute|overflow|translate|height/)
    expect(sanitiseCard(card)).toBe(card)
  })

  it('CARD-3 deliberately hidden, positioned or clipped elements stay as they are', () => {
    const html = [
      '<p>shown</p><div style="display:none">kept back</div>',
      '<div style="position:relative"><b style="position:absolute;left:10%">a</b><b style="position:absolute;left:60%">b</b></div>',
      '<div style="overflow:hidden;border-radius:8px"><p>one</p></div>',
      '<div style="display:flex;overflow-x:auto"><div style="min-width:100%">a</div><div style="min-width:100%">b</div></div>',
    ].join('')
    expect(sanitiseCard(html)).toBe(html)
  })

  it('CARD-4 a fetched image is embedded as data; any other is its description', () => {
    const html =
      '<img src=" https://a.example/1.png" alt="One"><img src="https://a.example/2.png" alt="Two"><img src="//b.example/x"><p style="background:url(https://c.example/)">t</p>'
    expect(pictureAddresses(html)).toEqual(['https://a.example/1.png', 'https://a.example/2.png'])
    const data = 'data:image/png;base64,iVBORw0KGgo='
    expect(sanitiseCard(html, new Map([['https://a.example/1.png', data]]))).toBe(
      `<img src="${data}" alt="One">Two<p>t</p>`,
    )
    const foreign = new Map([['https://a.example/1.png', 'https://a.example/1.png']])
    expect(sanitiseCard(html, foreign)).not.toContain('<img')
    const large = `data:image/png;base64,${'A'.repeat(300_000)}`
    const card = sanitiseCard('<img src="https://a.example/1.png">', new Map([['https://a.example/1.png', large]]))
    expect(card).toContain(large)
    expect(sanitiseCard(card)).toBe(card)
  })
})
