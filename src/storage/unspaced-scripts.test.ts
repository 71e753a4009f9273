import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isUnspaced, spaceOut, toSearchable } from './words.ts'

test('STORE-5 separates letters of unspaced scripts and leaves others unchanged', () => {
  expect(spaceOut('I ate 寿司 in Tōkyō').replaceAll(/ +/g, ' ')).toBe('I ate 寿 司 in Tōkyō')
  expect(spaceOut('コーヒー').trim().split(/ +/)).toEqual(['コ', 'ー', 'ヒ', 'ー'])
  expect(spaceOut('ข้าวผัด').trim().split(/ +/)).toEqual(['ข้', 'า', 'ว', 'ผั', 'ด'])
  expect(spaceOut('日本。')).toContain('。')
  for (const text of ['plain', 'हिन्दी', 'привет', 'مرحبا', '👍🏽']) expect(spaceOut(text)).toBe(text)
})

test('STORE-5 searches their words by pairs of letters', () => {
  expect(toSearchable('東京都庁')).toEqual(['東京', '京都', '都庁'])
  expect(toSearchable('茶')).toEqual(['茶'])
  expect(toSearchable('abc東京1')).toEqual(['abc', '東京', '1'])
  expect(toSearchable('서울에서')).toEqual(['서울', '울에', '에서'])
  expect(toSearchable('coffee')).toEqual(['coffee'])
})

test('STORE-5 no text breaks it, and no letter is lost', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      expect(spaceOut(text).replaceAll(' ', '')).toBe(text.replaceAll(' ', ''))
      const pieces = toSearchable(text)
      expect(pieces.length === 1 || isUnspaced(text) || text === '').toBe(true)
      expect(pieces.every((piece) => text.includes(piece))).toBe(true)
    }),
  )
})
