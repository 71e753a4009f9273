import fc from 'fast-check'
import { expect, test } from 'vitest'
import { rankByWords } from '../../sqlite/rank-by-words.ts'
import { wordWeight } from '../../words/word-weight.ts'
import { rankByNumbers } from './rank-by-numbers.ts'

test('SCALE-1 texts rank as they do on SQLite', () => {
  const texts = 40
  const places = fc.uniqueArray(fc.integer({ min: 1, max: texts }), { minLength: 1, maxLength: texts })
  fc.assert(
    fc.property(fc.array(places, { maxLength: 8 }), fc.integer({ min: 1, max: 20 }), (words, limit) => {
      const known = words.map((list) => ({ places: Int32Array.from(list), isCut: false }))
      const weighed = words.map((list) => ({
        numbers: Float64Array.from(list).sort().reverse(),
        weight: wordWeight(list.length, texts),
      }))
      const expected = rankByWords(known, { texts, limit }).map(({ place, weight }) => ({ number: place, weight }))
      expect(rankByNumbers(weighed, limit)).toEqual(expected)
    }),
  )
})
