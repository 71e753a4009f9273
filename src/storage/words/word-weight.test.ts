import { expect, test } from 'vitest'
import { lengthFactor, wordWeight } from './word-weight.ts'

test('STORE-5 the rarer a word, the more it counts, and one that all texts hold still counts', () => {
  expect(wordWeight(1, 100)).toBeGreaterThan(wordWeight(2, 100))
  expect(wordWeight(100, 100)).toBeGreaterThan(0)
})

test('STORE-5 the longer a text, the less its words say about it', () => {
  expect(lengthFactor(30)).toBeCloseTo(1)
  expect(lengthFactor(5)).toBeGreaterThan(lengthFactor(30))
  expect(lengthFactor(500)).toBeLessThan(0.5)
})
