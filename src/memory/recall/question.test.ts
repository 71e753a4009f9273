import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { anyText } from '../../../test/support/any-text.ts'
import { termOf, termsOf } from '../words.ts'
import { readQuestion } from './question.ts'
import { speakerNames } from './window-words.ts'

const at = Date.UTC(2026, 10, 15, 9)
const speakers = speakerNames(['Anna', 'Bo'])

function read(text: string) {
  return readQuestion(text, { at, timeZone: 'UTC', speakers })
}

describe('readQuestion', () => {
  it('MEM-3 extracts the subject, in one form for all word forms', () => {
    expect(read('What was I painting when we went camping?').terms).toEqual(['paint', 'go', 'camp'])
    expect(read('Which allergies, and which ALLERGIC allergy?').terms).toEqual(['allergi'])
  })

  it('MEM-3 searches a word in all forms that the stemmer does not unify', () => {
    expect(read('What did I buy?').searchWords.split(' ')).toEqual(['buy', 'bought'])
    expect(read('any allergy').searchWords.split(' ')).toEqual(['allergy', 'allergic'])
    expect(new Set(read('where I went').searchWords.split(' '))).toEqual(new Set(['went', 'go', 'gone']))
  })

  it('MEM-3 drops question words unless there are no others', () => {
    expect(read('What kind of bike was mentioned?').terms).toEqual(['bike'])
    expect(read('What kind?').terms).toEqual(['kind'])
    expect(read('what about it?').terms).toEqual([])
  })

  it('MEM-3 separates the named speakers', () => {
    const question = read("What is Anna's dog called?")
    expect(question.speakers).toEqual(['Anna'])
    expect(question.terms).toEqual(['dog', 'call'])
    expect(question.embeddingText).toBe('What is dog called?')
    // A question with only a name is about the name.
    expect(read('Who is Bo?').terms).toEqual(['bo'])
  })

  it('MEM-3 extracts the requested days, and recognizes a question about nothing else', () => {
    const day = { from: Date.UTC(2026, 10, 14), until: Date.UTC(2026, 10, 15) - 1 }
    expect(read('What did I cook yesterday?')).toMatchObject({ dates: day, terms: ['cook', 'yesterdai'] })
    for (const text of ['What did I tell you yesterday?', 'What happened yesterday?', 'What did Anna do yesterday?'])
      expect(read(text)).toMatchObject({ dates: day, terms: [], searchWords: '' })
    expect(read('What did I cook?').dates).toBeUndefined()
  })

  it.each([
    ['How many dogs do I have?', { asksHowMany: true, asksForReply: false }],
    ['how OLD is she', { asksHowMany: true, asksForReply: false }],
    ['What did you recommend?', { asksHowMany: false, asksForReply: true }],
    ['the restaurant you suggested', { asksHowMany: false, asksForReply: true }],
    ['Where do I live?', { asksHowMany: false, asksForReply: false }],
  ])('MEM-3 recognizes the kind of answer: %s', (text, kind) => {
    expect(read(text)).toMatchObject(kind)
  })

  it('MEM-3 accepts any text, and limits it', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const question = read(text)
        expect(question.text).toBe(text)
        expect(question.terms.length).toBeLessThanOrEqual(32)
      }),
    )
    const long = Array.from({ length: 20_000 }, (_, index) => `word${index}`).join(' ')
    expect(read(long).terms).toHaveLength(32)
    expect(read('').terms).toEqual([])
  })
})

describe('termsOf', () => {
  it('MEM-3 returns stems in order with repetitions, one for all forms of a word', () => {
    expect(termsOf('The children were painting; a child paints the mice')).toEqual([
      'kid',
      'paint',
      'kid',
      'paint',
      'mous',
    ])
    expect(termOf('mum')).toBe(termOf('mother'))
    expect(termOf('gone')).toBe(termOf('went'))
    expect(termsOf('')).toEqual([])
  })

  it('MEM-3 reads the whole of a long text', () => {
    expect(termsOf(`${'bike '.repeat(20_000)}lake`).at(-1)).toBe('lake')
  })
})
