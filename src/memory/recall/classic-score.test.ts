import { describe, expect, it } from 'vitest'
import { madeMemory } from '../../../test/support/made-memory.ts'
import { classicScore } from './recall.ts'

const day = 24 * 60 * 60 * 1_000
const now = 100 * day

function score(options: { tags?: string[]; terms?: string[]; asked?: string[]; usedAt?: number }): number {
  const { tags = [], terms = [], asked = ['bike'], usedAt = 0 } = options
  return classicScore(madeMemory({ tags, usedAt }), terms, asked, now)
}

describe('classicScore', () => {
  it('MEM-3 counts a word in the tags more than one in the content, and both together', () => {
    expect(score({})).toBe(0)
    expect(score({ terms: ['bike'] })).toBeCloseTo(0.2)
    expect(score({ tags: ['Bikes'] })).toBeCloseTo(0.3)
    expect(score({ tags: ['bike'], terms: ['bike'] })).toBeCloseTo(0.5)
    expect(score({ tags: ['bike'], terms: ['red'], asked: ['bike', 'red'] })).toBeCloseTo(0.5)
  })

  it('MEM-3 adds for use in the last day, more if later', () => {
    expect(score({ usedAt: now })).toBeCloseTo(0.2)
    expect(score({ usedAt: now - day / 2 })).toBeCloseTo(0.1)
    expect(score({ usedAt: now - day })).toBe(0)
    // A clock that was set back.
    expect(score({ usedAt: now + 10 * day })).toBeCloseTo(0.2)
  })
})
