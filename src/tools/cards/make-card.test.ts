import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { anyText } from '../../../test/support/any-text.ts'
import { cardSchema } from '../../protocol/messages.ts'
import { makeCard } from './make-card.ts'

const html = '<p>x</p>'

describe('makeCard', () => {
  it('CARD-2 has title, icon, accent and background as the manifest says', () => {
    const card = makeCard({
      html: '<div style="padding:16px">Hello</div>',
      manifestTitle: 'Hello',
      accentColor: '#6C63FF',
      backgroundColor: 'rgba(108, 99, 255, 0.10)',
      icon: 'fa-star',
    })
    expect(card).toEqual({
      title: 'Hello',
      html: '<div style="padding:16px">Hello</div>',
      text: '⭐ Hello\n\nHello',
      accentColor: '#6c63ff',
      backgroundColor: 'rgba(108, 99, 255, 0.10)',
      icon: 'fa-star',
    })
  })

  it('TOOL-9 fills parameters into the title as plain text, once', () => {
    const params = { location: '<b>Valletta</b> {{secret}}', secret: 'x', days: 3, nothing: null, list: [1] }
    const titleOf = (manifestTitle: string) => makeCard({ html, manifestTitle, params })?.title
    expect(titleOf('Weather in {{location}}')).toBe('Weather in <b>Valletta</b> {{secret}}')
    expect(titleOf('{{ days }} days, {{nothing}}{{list}}{{toString}}{{unknown}}.')).toBe('3 days, .')
  })

  it('TOOL-9 the title of the run overrides that of the manifest, and is used unchanged', () => {
    expect(makeCard({ html, title: 'Now {{x}}', manifestTitle: 'Always', params: { x: 1 } })?.title).toBe('Now {{x}}')
    expect(makeCard({ html, title: ' \u202e ', manifestTitle: 'Always' })?.title).toBe('Always')
    expect(makeCard({ html, title: 'a\nb\u001b[31mc' })?.title).toBe('a bc')
    expect(makeCard({ html, title: 'x'.repeat(500) })?.title).toHaveLength(120)
  })

  it('CARD-2 there is no card if nothing remains to show', () => {
    for (const empty of [null, undefined, '', '  ', '<script>x</script>', '<img src=https://a.example>']) {
      expect(makeCard({ html: empty })).toBeUndefined()
    }
  })

  const colours: [text: string, expected: string | null][] = [
    ['#4a90d4', '#4a90d4'],
    ['#ABC', '#abc'],
    ['RebeccaPurple', 'rebeccapurple'],
    [' hsl(210deg 50% 40% / 0.5) ', 'hsl(210deg 50% 40% / 0.5)'],
    ['oklch(0.7 0.1 200)', 'oklch(0.7 0.1 200)'],
    ['#12345', null],
    ['purplish', null],
    ['rgb(1,2)', null],
    ['rgb(1,2,3', null],
    ['red;background:url(x)', null],
    ['url(https://a.example)', null],
    ['rgb(1,2,url(x))', null],
    ['var(--x)', null],
    ['red}</style><script>', null],
    ['', null],
  ]
  for (const [text, expected] of colours) {
    it(`CARD-2 the color ${JSON.stringify(text)} is ${expected ?? 'none'}`, () => {
      expect(makeCard({ html, accentColor: text, backgroundColor: text })).toMatchObject({
        accentColor: expected,
        backgroundColor: expected,
      })
    })
  }

  const icons: [text: string, expected: string | null][] = [
    ['fa-cloud-sun', 'fa-cloud-sun'],
    ['fas fa-star', 'fa-star'],
    ['🌦️', '🌦️'],
    ['👩‍🔬', '👩‍🔬'],
    ['🇲🇹', '🇲🇹'],
    ['https://a.example/icon.png', null],
    ['data:image/png;base64,x', null],
    ['<b>x</b>', null],
    ['two words', null],
    ['🌦️🌦️', null],
  ]
  for (const [text, expected] of icons) {
    it(`SEC-7 the icon ${JSON.stringify(text)} is ${expected ?? 'none'}`, () => {
      expect(makeCard({ html, icon: text })?.icon).toBe(expected)
    })
  }

  it('CARD-2 any tool output makes a card or none', () => {
    fc.assert(
      fc.property(anyText, anyText, anyText, (first, second, third) => {
        const card = makeCard({
          html: `<p>${first}</p>`,
          title: second,
          accentColor: third,
          icon: first,
          backgroundColor: second,
        })
        if (card) expect(cardSchema.parse(card)).toEqual(card)
      }),
    )
  })
})
