import { expect, test } from 'vitest'
import { rankByWords, type WordPlaces } from './text-search.ts'

const word = (...places: number[]): WordPlaces => ({ places: Int32Array.from(places), isCut: false })
const ranked = (words: WordPlaces[], texts = 10, limit = 10) =>
  rankByWords(words, { texts, limit }).map(({ place }) => place)

test('STORE-5 a rare word counts more than a common one, two more than one, then the newer text wins', () => {
  const [rare, common] = [word(3), word(1, 2, 3, 4, 5, 6)]
  expect(ranked([rare, common])).toEqual([3, 6, 5, 4, 2, 1])
  expect(ranked([word(2), common, word(1, 4, 7, 8, 9)])).toEqual([2, 4, 1, 9, 8, 7, 6, 5, 3])
  expect(ranked([rare, common], 10, 2)).toEqual([3, 6])
  expect(ranked([word()])).toEqual([])
  expect(ranked([])).toEqual([])
})

test('STORE-5 a word that nearly every text contains still counts', () => {
  const [first] = rankByWords([word(1)], { texts: 1, limit: 5 })
  expect(first?.weight).toBeGreaterThan(0)
})

test("STORE-5 if only the newest texts were read, the word's frequency is extrapolated to all", () => {
  const newest = Array.from({ length: 10 }, (_, index) => 1000 - index * 10)
  const [cut] = rankByWords([{ places: Int32Array.from(newest), isCut: true }], { texts: 1000, limit: 1 })
  const all = Array.from({ length: 100 }, (_, index) => 1000 - index * 10)
  const [whole] = rankByWords([word(...all)], { texts: 1000, limit: 1 })
  expect(cut?.weight).toBeCloseTo(whole?.weight ?? 0, 0)
})
