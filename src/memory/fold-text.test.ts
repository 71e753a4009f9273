import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { attributeKey, entityKey, foldedWords, foldText, valueKey } from './words.ts'

describe('foldText', () => {
  it.each([
    ['  José  García ', 'jose garcia'],
    ['STRASSE', 'strasse'],
    ['“Bea”', 'bea'],
    ['O’Neill', "o'neill"],
    ['Dr. Who.', 'dr. who'],
    ['ﬁancé', 'fiance'],
    ['Ｔｏｋｙｏ', 'tokyo'],
    ['Ἀθήνα', 'αθηνα'],
    ['Anna (sister)', 'anna (sister)'],
  ])('MEM-10 folds %s', (text, folded) => {
    expect(foldText(text)).toBe(folded)
  })

  it('MEM-10 keeps other differences', () => {
    const different = [
      'C',
      'C++',
      'C#',
      'Anna (sister)',
      'Anna (colleague)',
      'か',
      'が',
      'край',
      'краи',
      'कि',
      'की',
      '...',
      '!',
    ]
    expect(new Set(different.map(foldText)).size).toBe(different.length)
  })

  it('MEM-10 is well formed for any text, idempotent, and empty only for empty text', () => {
    const anyText = fc.oneof(fc.string({ unit: 'binary' }), fc.string({ unit: 'grapheme' }), fc.string())
    fc.assert(
      fc.property(anyText, (text) => {
        for (const fold of [foldText, entityKey, attributeKey, valueKey]) {
          const key = fold(text)
          expect(fold(key)).toBe(key)
          expect(key.isWellFormed()).toBe(true)
        }
        expect(foldText(text) === '').toBe(text.trim() === '')
        expect(foldText(` ${text.toLowerCase()}\n`)).toBe(foldText(text.toLowerCase()))
        foldedWords(text)
      }),
      { numRuns: 2_000 },
    )
  })
})

describe('keys', () => {
  it.each([
    ['allergies', 'allergy'],
    ['Favourite_Colours', 'favourite colour'],
    ['movies', 'movie'],
    ['e-mail addresses', 'E mail address'],
    ['boxes', 'box'],
    ['Hobbies ', 'hobby'],
    ['pets', 'pet'],
    ['spoken languages', 'Spoken  language'],
    ['houses', 'house'],
  ])('MEM-10 the attributes %s and %s are one', (one, other) => {
    expect(attributeKey(one)).toBe(attributeKey(other))
  })

  it('MEM-10 words that only look like plurals stay', () => {
    for (const attribute of ['status', 'address', 'diagnosis', 'bus', 'class']) {
      expect(attributeKey(attribute)).toBe(attribute)
    }
  })

  it('MEM-10 ignores an article before a value', () => {
    expect(valueKey('A marine biologist')).toBe(valueKey('marine biologist.'))
    expect(valueKey('the')).toBe('the')
  })

  it('MEM-10 the user has one key under every name', () => {
    expect(['User', 'me', 'I', ' the user ', 'myself'].map(entityKey)).toEqual(Array(5).fill('user'))
    expect(entityKey('Meg')).toBe('meg')
  })

  it('MEM-10 compares words in the singular', () => {
    expect(foldedWords('Marine biologists, at NOAA!')).toEqual(['marine', 'biologist', 'at', 'noaa'])
  })

  it('MEM-10 a long run of signs is fast', () => {
    expect(foldText(`a${'"'.repeat(200_000)}b`)).toHaveLength(200_002)
  })
})
