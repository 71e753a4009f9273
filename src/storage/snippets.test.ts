import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createMatcher, formsIn, snippetOf } from './snippets.ts'

function marked(text: string, query: string, options?: { isTyping?: boolean }): string {
  const snippet = snippetOf(text, createMatcher(query, options))
  let shown = ''
  let at = 0
  for (const [start, end] of snippet.marks) {
    shown += `${snippet.text.slice(at, start)}[${snippet.text.slice(start, end)}]`
    at = end
  }
  return shown + snippet.text.slice(at)
}

describe('snippets', () => {
  it('FIND-2 a snippet shows the matching words of any script, by stem and without accents', () => {
    expect(marked('My **Passport** expires, and two passports are old.', 'passport')).toBe(
      'My [Passport] expires, and two [passports] are old.',
    )
    expect(marked('Le café est fermé', 'cafe')).toBe('Le [café] est fermé')
    expect(marked('昨日は東京で寿司を食べました', '寿司')).toBe('昨日は東京で[寿司]を食べました')
    expect(marked('ينتهي جواز السفر في مارس', 'السفر')).toBe('ينتهي جواز [السفر] في مارس')
    expect(marked('The garden party', 'the gard', { isTyping: true })).toBe('The [garden] party')
    expect(marked('The garden party', 'gard')).toBe('The garden party')
  })

  it('FIND-2 a long text is cut around the place with most matches', () => {
    const text = `${'far away '.repeat(80)}one garden ${'and so on '.repeat(80)}the garden party of Kiel ${'the end '.repeat(80)}`
    const snippet = marked(text, 'garden party')
    expect(snippet).toMatch(/^….*\[garden\] \[party\] of Kiel.*…$/)
    expect(snippet.length).toBeLessThan(200)
  })

  it('FIND-2 the forms of the words in a text are known, each once', () => {
    expect(formsIn('Gardens, gardens and a garden', createMatcher('garden'))).toEqual(['gardens', 'garden'])
  })

  it('FIND-2 marks of any text and query are in order, apart and inside the snippet', () => {
    const texts = fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 400 }),
      fc.string({ unit: 'binary', maxLength: 400 }),
      fc
        .array(fc.constantFrom('garden', 'gardens', '寿司', '𠮷野', 'جواز', '😀', '\n', '**', '<b>'), { maxLength: 90 })
        .map((parts) => parts.join(' ')),
    )
    fc.assert(
      fc.property(texts, texts, fc.boolean(), (text, query, isTyping) => {
        const find = createMatcher(query, { isTyping })
        const snippet = snippetOf(text, find)
        let last = -1
        for (const [start, end] of snippet.marks) {
          expect(start).toBeGreaterThan(last)
          expect(end).toBeGreaterThan(start)
          expect(end).toBeLessThanOrEqual(snippet.text.length)
          last = end
        }
        expect(snippet.text.length).toBeLessThanOrEqual(162)
        expect(snippet.text).not.toMatch(/\n/)
        if (text.isWellFormed()) expect(snippet.text.isWellFormed()).toBe(true)
        for (const form of formsIn(text, find)) expect(text.toLowerCase()).toContain(form)
      }),
    )
  })
})
