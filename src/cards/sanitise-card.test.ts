import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { tagSoup } from '../../test/security/cards/tag-soup.ts'
import { allVectors } from '../../test/security/cards/vectors/all-vectors.ts'
import { sanitiseCard } from './sanitise-card.ts'

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

  it('CARD-1 sanitising twice is sanitising once', () => {
    for (const { html } of allVectors) expect(sanitiseCard(sanitiseCard(html))).toBe(sanitiseCard(html))
    fc.assert(
      fc.property(tagSoup, (html) => {
        const once = sanitiseCard(html)
        expect(sanitiseCard(once)).toBe(once)
      }),
      { numRuns: 2_000 },
    )
  })

  it('SEC-18 what is too large is said to be, before and after', () => {
    expect(sanitiseCard('x'.repeat(300_000))).toMatch(/too large/)
    expect(sanitiseCard('&'.repeat(200_000))).toMatch(/too large/)
    expect(sanitiseCard('<p>'.repeat(15_000))).toMatch(/too large/)
    expect(sanitiseCard(sanitiseCard('x'.repeat(300_000)))).toBe(sanitiseCard('x'.repeat(300_000)))
  })

  it('SEC-18 depth ends, and what is said in the depth stays', () => {
    const deep = sanitiseCard(`${'<div>'.repeat(5_000)}bottom`)
    expect(deep).toContain('bottom')
    expect(deep.split('<div>').length).toBeLessThan(60)
    expect(sanitiseCard(deep)).toBe(deep)
  })
})
