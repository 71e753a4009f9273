import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { bestPassage } from './words.ts'

const filler = 'Nothing happened on this day either. '.repeat(50).trim()

describe('bestPassage', () => {
  it('MEM-5 a text that fits is unchanged', () => {
    expect(bestPassage('I like tea', 'coffee', 10)).toBe('I like tea')
  })

  it('MEM-5 selects the passage with most of the words, and notes the omission', () => {
    const text = `${filler}\n\nThe spare keys are under the blue pot.\n\n${filler}`
    const passage = bestPassage(text, 'Where is the spare key?', 200)
    expect(passage).toContain('The spare keys are under the blue pot.')
    expect(passage.startsWith('[…] ')).toBe(true)
    expect(passage).toMatch(/\n\[… \d+ more characters\]$/)
    expect(bestPassage(text, 'violin', 200)).toMatch(/^Nothing happened/)
  })

  it('MEM-5 no text exceeds its limit', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 600 }), fc.integer({ min: 100, max: 500 }), (text, limit) => {
        const passage = bestPassage(text, 'some words', limit)
        expect(passage.length).toBeLessThanOrEqual(limit + 10)
        if (text.isWellFormed()) expect(passage.isWellFormed()).toBe(true)
      }),
    )
  })
})
