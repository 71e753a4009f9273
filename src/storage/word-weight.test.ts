import { expect, test } from 'vitest'
import { lengthFactor, wordWeight } from './words.ts'

test('STORE-5 a rarer word counts more, and a word in all texts still counts', () => {
  expect(wordWeight(1, 100)).toBeGreaterThan(wordWeight(2, 100))
  expect(wordWeight(100, 100)).toBeGreaterThan(0)
})

test('STORE-5 words count less in longer texts', () => {
  expect(lengthFactor(30)).toBeCloseTo(1)
  expect(lengthFactor(5)).toBeGreaterThan(lengthFactor(30))
  expect(lengthFactor(500)).toBeLessThan(0.5)
})
