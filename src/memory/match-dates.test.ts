import { describe, expect, it } from 'vitest'
import { madeMemory } from '../../test/support/made-memory.ts'
import { matchDates } from './dates.ts'

const day = 24 * 60 * 60 * 1_000
const asked = { from: 100 * day, until: 101 * day - 1 }

function told(createdAt: number, happened?: [number, number]): number {
  const [happenedFrom, happenedUntil] = happened ?? [null, null]
  return matchDates(madeMemory({ createdAt, happenedFrom, happenedUntil }), asked)
}

describe('matchDates', () => {
  it('MEM-3 ranks a reference to the days highest, then being said in them, then soon after', () => {
    const speaksOf = told(300 * day, [100 * day, 101 * day - 1])
    const toldThen = told(100.5 * day)
    const toldSoon = told(103 * day)
    expect([speaksOf, toldThen, toldSoon]).toEqual([1, 0.8, 0.5])
    expect(told(300 * day)).toBe(0)
    expect(told(99 * day)).toBe(0)
  })

  it('MEM-3 is exact to the millisecond', () => {
    expect(told(100 * day - 1)).toBe(0)
    expect(told(100 * day)).toBe(0.8)
    expect(told(101 * day - 1)).toBe(0.8)
    expect(told(101 * day)).toBe(0.5)
    expect(told(108 * day - 1)).toBe(0.5)
    expect(told(108 * day)).toBe(0)
    expect(told(0, [99 * day, 100 * day])).toBe(1)
    expect(told(0, [99 * day, 100 * day - 1])).toBe(0)
    expect(told(0, [101 * day - 1, 200 * day])).toBe(1)
    expect(told(0, [101 * day, 200 * day])).toBe(0)
  })

  it('MEM-3 counts a whole year less than a day', () => {
    const year = { from: 0, until: 365 * day - 1 }
    const memory = madeMemory({ createdAt: 100 * day })
    expect(matchDates(memory, year)).toBeLessThan(matchDates(memory, asked))
    expect(matchDates(memory, year)).toBeGreaterThan(0)
  })
})
