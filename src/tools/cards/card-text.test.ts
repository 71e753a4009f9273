import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { tagSoup } from '../../../test/security/cards/tag-soup.ts'
import { displayWidth, toDisplayText } from '../../base/text.ts'
import { cardText, plainCardText } from './card-text.ts'
import { sanitiseCard } from './make-card.ts'

const render = (html: string, width?: number) =>
  cardText({ title: '', icon: null, html: sanitiseCard(html), ...(width === undefined ? {} : { width }) })
const plain = (html: string) => plainCardText({ title: '', icon: null, html: sanitiseCard(html) })

const week = `<table><caption>Week</caption><tr><th>Day<th>High<th>Notes
  <tr><td>Monday<td>21°<td>Sun in the morning, clouds in the afternoon
  <tr><td>Tuesday<td>9°<td></table>`

describe('cardText', () => {
  it('CARD-2 begins with icon and title', () => {
    expect(cardText({ title: 'Weather', icon: 'fa-sun', html: '<p>Mild</p>' })).toBe('☀️ Weather\n\nMild')
    expect(cardText({ title: '', icon: 'fa-unheard-of', html: 'Mild' })).toBe('Mild')
  })

  it('CARD-2 paragraphs, headings and breaks', () => {
    expect(render('<h2>Today</h2><p>One <b>two</b>\n three</p><p>four<br>five</p><hr>six')).toBe(
      'Today\n\nOne two three\n\nfour\nfive\n\n────────────────────\n\nsix',
    )
  })

  it('CARD-2 tables have columns, amounts are right-aligned, wide cells are wrapped', () => {
    expect(render(week, 40)).toBe(
      [
        'Week',
        'Day      High  Notes',
        '───────  ────  ─────────────────────────',
        'Monday    21°  Sun in the morning,',
        '               clouds in the afternoon',
        'Tuesday    9°',
      ].join('\n'),
    )
  })

  it('CARD-2 a chat gets one line per row', () => {
    expect(plain(week)).toBe(
      'Week\nMonday: High 21°, Notes Sun in the morning, clouds in the afternoon\nTuesday: High 9°',
    )
    expect(plain('<table><tr><td>a<td>b<tr><td>c</table>')).toBe('a: b\nc')
  })

  it('CARD-2 lists and details are indented', () => {
    expect(render('<ul><li>One<ol start=3><li>Three<li>Four</ol><li>Two</ul>')).toBe(
      '• One\n  3. Three\n  4. Four\n• Two',
    )
    expect(render('<details><summary>More</summary><p>Inside</p></details>')).toBe('▸ More\n  Inside')
    expect(render('<dl><dt>Term<dd>Meaning</dl><blockquote>Said</blockquote>')).toBe('Term\n  Meaning\n\n│ Said')
  })

  it('SEC-7 links show their whole address, images their name', () => {
    expect(render('See <a href="https://a.example/x?y">this</a>.')).toBe('See this (https://a.example/x?y).')
    expect(render('<a href="https://a.example/">https://a.example</a>')).toBe('https://a.example/')
    expect(
      render('<img src="data:image/gif;base64,R0lGODlhAQABAAAAACw=" alt="A cat"><svg aria-label="A curve"></svg>'),
    ).toBe('[image: A cat][drawing: A curve]')
  })

  it('CARD-2 boxes side by side are separated, hidden ones omitted, gauges are numbers', () => {
    expect(render('<div style="display:flex"><span>Now</span><span>20°</span></div>')).toBe('Now  20°')
    expect(render('<p>a<span style="display:none">b</span></p><div style="display:none">c</div>')).toBe('a')
    expect(render('<progress value=3 max=4></progress>')).toBe('75 %')
  })

  it('CARD-2 preformatted text is unchanged', () => {
    expect(render('<pre>a  b\n  c</pre>')).toBe('a  b\n  c')
  })

  it('SEC-10 for any HTML, nothing in the text controls or disguises a terminal', () => {
    fc.assert(
      fc.property(tagSoup, fc.integer({ min: 20, max: 120 }), (html, width) => {
        for (const text of [render(html, width), plain(html)]) expect(toDisplayText(text)).toBe(text)
      }),
    )
  })

  it('CARD-2 lines are wrapped at the width', () => {
    const words = fc.array(fc.stringMatching(/^[a-zäß]{1,8}$/), { minLength: 1, maxLength: 60 })
    fc.assert(
      fc.property(words, fc.integer({ min: 24, max: 100 }), (list, width) => {
        const text = render(`<ul><li>${list.join(' ')}</ul><blockquote>${list.join(' ')}</blockquote>`, width)
        for (const line of text.split('\n')) expect(displayWidth(line)).toBeLessThanOrEqual(width)
      }),
    )
  })
})
