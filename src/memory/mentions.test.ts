import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isMentionedIn, mentionsAny } from './names.ts'

describe('mentionsAny', () => {
  const mentions = mentionsAny(['José García', 'Bee'])

  it.each([
    ['I met JOSE  GARCIA today', true],
    ['“Bee’s garden”', true],
    ['bee', true],
    ['been there', false],
    ['a beehive', false],
    ['Jose, Garcia', false],
    ['get_bee', true],
    ['', false],
  ])('MEM-14 in %s: %s', (text, expected) => {
    expect(mentions(text)).toBe(expected)
  })

  it('MEM-14 anywhere in scripts without word boundaries', () => {
    expect(mentionsAny(['田中'])('今日は田中さんに会った')).toBe(true)
    expect(mentionsAny(['Анна'])('Анной')).toBe(false)
  })

  it('MEM-14 finds any phrase in any text that contains it, and nothing for an empty one', () => {
    const text = fc.string({ unit: 'grapheme', maxLength: 30 })
    fc.assert(
      fc.property(text, text, fc.stringMatching(/^[a-z]{2,8}$/), (before, after, phrase) => {
        expect(mentionsAny([phrase])(`${before} ${phrase} ${after}`)).toBe(true)
        expect(mentionsAny([' ', ''])(`${before}${after}`)).toBe(false)
      }),
    )
  })

  it('MEM-14 in JSON it checks every string and every key', () => {
    expect(isMentionedIn({ a: [1, null, { b: 'the bee' }] }, mentions)).toBe(true)
    expect(isMentionedIn({ a: { Bee: 1 } }, mentions)).toBe(true)
    expect(isMentionedIn({ a: ['been', true] }, mentions)).toBe(false)
  })
})
