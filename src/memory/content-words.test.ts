import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { contentWords } from './content-words.ts'

describe('contentWords', () => {
  it('keeps what a question is about', () => {
    expect(contentWords('What am I allergic to?')).toEqual(['allergic'])
    expect(contentWords("When is Anna's birthday? I don’t know")).toEqual(['anna', 'birthday'])
  })

  it('is empty where every word is a stop word', () => {
    expect(contentWords('What do you know about me?')).toEqual([])
  })

  it('takes search syntax as plain words', () => {
    expect(contentWords('tea:"x" NEAR(y) -z* OR')).toEqual(['tea', 'x', 'near', 'y', 'z'])
  })

  it('keeps words of every script', () => {
    expect(contentWords('Ärzte 東京 привет')).toEqual(['ärzte', '東京', 'привет'])
  })

  it('is bounded for any text', () => {
    expect(contentWords(Array.from({ length: 100_000 }, (_, index) => `w${index}`).join(' '))).toHaveLength(32)
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(contentWords(text).length).toBeLessThanOrEqual(32)
      }),
    )
  })
})
