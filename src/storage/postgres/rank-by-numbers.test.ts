import fc from 'fast-check'
import { expect, test } from 'vitest'
import { rankByWords } from '../sqlite/text-search.ts'
import { wordWeight } from '../words.ts'
import { rankByNumbers } from './open-postgres.ts'

test('SCALE-1 ranks texts like SQLite', () => {
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
