import { expect, test } from 'vitest'
import { toIndexedWords, toSoughtWords } from './words.ts'

test('STORE-5 each word is listed once, and the length counts every occurrence', () => {
  expect(toIndexedWords('shellfish and more shellfish')).toEqual({ words: ['shellfish', 'and', 'more'], length: 4 })
})

test('STORE-5 adjacent letters of unspaced scripts are indexed and searched as pairs', () => {
  expect(toIndexedWords('寿司 bar').words).toEqual(['寿', '司', 'bar', '寿 司'])
  expect(toSoughtWords('寿司')).toEqual(['寿 司'])
  expect(toSoughtWords('生物学')).toEqual(['生 物', '物 学'])
  expect(toSoughtWords('虾')).toEqual(['虾'])
  expect(toSoughtWords('tyres')).toEqual(['tyre'])
})

test('STORE-5 a word of any length fits the index and is found only by itself', () => {
  const [word = ''] = toIndexedWords('a'.repeat(10_000)).words
  expect(word.length).toBeLessThan(100)
  expect(toSoughtWords('a'.repeat(10_000))).toEqual([word])
  expect(toSoughtWords('a'.repeat(10_001))).not.toEqual([word])
})
