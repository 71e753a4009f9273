import fc from 'fast-check'
import { expect, test } from 'vitest'
import { toQueryWords } from './words.ts'

test('STORE-5 keeps the significant words, lower case, each once', () => {
  expect(toQueryWords('What am I ALLERGIC to? Allergic, to shellfish!')).toEqual(['allergic', 'shellfish'])
  expect(toQueryWords("don't stop: C3PO's café № 42")).toEqual(['stop', 'c3po', 'café', '42'])
  expect(toQueryWords('東京 हिन्दी')).toEqual(['東京', 'हिन्दी'])
})

test('STORE-5 keeps stop words if there is nothing else', () => {
  expect(toQueryWords('The Who')).toEqual(['the', 'who'])
  expect(toQueryWords(' ?! ')).toEqual([])
})

test('STORE-5 returns at most 32 words, without characters that have a meaning in a query', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 500 }), (text) => {
      const words = toQueryWords(text)
      expect(words.length).toBeLessThanOrEqual(32)
      expect(words.join('')).toMatch(/^[\p{L}\p{N}\p{M}]*$/u)
    }),
    { numRuns: 2000 },
  )
  expect(toQueryWords(Array.from({ length: 100 }, (_, index) => `word${index}`).join(' '))).toHaveLength(32)
})
