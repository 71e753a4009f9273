import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { contentWords } from './words.ts'

describe('contentWords', () => {
  it('keeps the subject of a question', () => {
    expect(contentWords('What am I allergic to?')).toEqual(['allergic'])
    expect(contentWords("When is Anna's birthday? I don’t know")).toEqual(['anna', 'birthday'])
  })

  it('is empty if every word is a stop word', () => {
    expect(contentWords('What do you know about me?')).toEqual([])
  })

  it('treats search syntax as plain words', () => {
    expect(contentWords('tea:"x" NEAR(y) -z* OR')).toEqual(['tea', 'x', 'near', 'y', 'z'])
  })

  it('keeps words of every script', () => {
    expect(contentWords('Ärzte 東京 привет')).toEqual(['arzte', '東京', 'привет'])
    expect(contentWords('我住在上海。')).toEqual(['我住', '住在', '在上', '上海'])
    expect(contentWords('قَرَأتُ الكِتاب')).toEqual(contentWords('قرات كتاب'))
    expect(contentWords('STRASSE Ёлка שָׁלוֹם')).toEqual(contentWords('Straße елка שלום'))
  })

  it('is limited for any text', () => {
    expect(contentWords(Array.from({ length: 100_000 }, (_, index) => `w${index}`).join(' '))).toHaveLength(32)
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(contentWords(text).length).toBeLessThanOrEqual(32)
      }),
    )
  })
})
