import { DatabaseSync } from 'node:sqlite'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isFaded, strengthOf } from './decay.ts'
import type { Memory, Retention } from './memory.ts'

const day = 24 * 60 * 60 * 1_000

function memory(tier: Retention, priority: number, change: Partial<Memory> = {}) {
  return { tier, priority, usedAt: 0, useCount: 0, cycle: 0, ...change }
}

/** After so many days, with the policy `time`. */
function strengthAfter(days: number, of: ReturnType<typeof memory>): number {
  return strengthOf(of, { policy: 'time', now: days * day, cycle: 0 })
}

describe('the policy cycles', () => {
  it('MEM-2 gives exactly the same number as updating all rows at every cycle', () => {
    const raw = new DatabaseSync(':memory:')
    raw.exec('create table memories (id integer primary key, priority real, decay_rate real, last_accessed integer)')
    const step = fc.oneof(
      { weight: 2, arbitrary: fc.record({ do: fc.constant('create' as const), tier: tiers, priority: priorities }) },
      { weight: 1, arbitrary: fc.record({ do: fc.constant('use' as const), which: fc.nat() }) },
      { weight: 3, arbitrary: fc.record({ do: fc.constant('cycle' as const), times: fc.nat({ max: 90 }) }) },
    )
    fc.assert(
      fc.property(fc.array(step, { maxLength: 24 }), (history) => {
        raw.exec('delete from memories')
        const ours: ReturnType<typeof memory>[] = []
        let cycle = 0
        for (const event of history) {
          if (event.do === 'create') {
            ours.push(memory(event.tier, event.priority, { cycle }))
            const rate = event.tier === 'short_term' ? 0.02 : 0.005
            raw.prepare('insert into memories values (?, ?, ?, 0)').run(ours.length, event.priority, rate)
          } else if (event.do === 'use') {
            const used = ours[event.which % Math.max(1, ours.length)]
            if (used) used.useCount += 1
            raw
              .prepare('update memories set last_accessed = 1 where id = ?')
              .run((event.which % Math.max(1, ours.length)) + 1)
          } else {
            cycle += event.times
            const decay = raw.prepare('UPDATE memories SET priority = MAX(0, priority - decay_rate) WHERE priority > 0')
            for (let time = 0; time < event.times; time += 1) decay.run()
          }
        }
        const theirs = raw.prepare('select priority from memories order by id').all()
        const strengths = ours.map((one) => strengthOf(one, { policy: 'cycles', now: 0, cycle }))
        expect(strengths).toEqual(theirs.map((row) => row.priority))
      }),
      { numRuns: 1_000 },
    )
    raw.close()
  })

  it('MEM-2 is as fast for a billion cycles', () => {
    const strength = strengthOf(memory('long_term', 1), { policy: 'cycles', now: 0, cycle: 1_000_000_000 })
    expect(strength).toBe(0)
  })

  it('MEM-2 drops short-term memories below 0.05, never long-term ones', () => {
    const state = { policy: 'cycles', now: 0, cycle: 24 } as const
    expect(isFaded(memory('short_term', 0.5), { ...state, cycle: 22 })).toBe(false)
    expect(isFaded(memory('short_term', 0.5), state)).toBe(true)
    expect(isFaded(memory('long_term', 0.8), { ...state, cycle: 10_000 })).toBe(false)
  })
})

describe('the policy time', () => {
  it('MEM-2 halves short-term memories in three days and long-term ones in 180', () => {
    expect(strengthAfter(0, memory('short_term', 0.6))).toBe(0.6)
    expect(strengthAfter(3, memory('short_term', 0.6))).toBeCloseTo(0.3, 12)
    expect(strengthAfter(180, memory('long_term', 0.8))).toBeCloseTo(0.4, 12)
  })

  it('MEM-2 use strengthens, within limits', () => {
    const unused = strengthAfter(30, memory('long_term', 0.9))
    const used = strengthAfter(30, memory('long_term', 0.9, { useCount: 5 }))
    const usedLately = strengthAfter(30, memory('long_term', 0.9, { useCount: 5, usedAt: 29 * day }))
    expect(used).toBeGreaterThan(unused)
    expect(usedLately).toBeGreaterThan(used)
    expect(strengthAfter(0, memory('long_term', 1, { useCount: 1_000_000 }))).toBe(1)
  })

  it('MEM-2 a long-term memory is found after a hundred years, ranked after fresher ones', () => {
    const old = memory('long_term', 0.8)
    expect(isFaded(old, { policy: 'time', now: 36_500 * day, cycle: 0 })).toBe(false)
    expect(strengthAfter(36_500, old)).toBeGreaterThan(0.05)
    expect(strengthAfter(36_500, old)).toBeLessThan(strengthAfter(1, old))
    expect(isFaded(memory('short_term', 0.5), { policy: 'time', now: 30 * day, cycle: 0 })).toBe(true)
  })

  it('MEM-2 is between zero and the priority, whatever the clock says', () => {
    fc.assert(
      fc.property(tiers, priorities, fc.integer(), fc.integer(), fc.nat(), (tier, priority, now, usedAt, useCount) => {
        const strength = strengthOf(memory(tier, priority, { usedAt, useCount }), { policy: 'time', now, cycle: 0 })
        expect(strength).toBeGreaterThanOrEqual(0)
        expect(strength).toBeLessThanOrEqual(priority)
      }),
    )
  })
})

const tiers = fc.constantFrom<Retention>('short_term', 'long_term')
const priorities = fc.oneof(fc.double({ min: 0, max: 1, noNaN: true }), fc.constantFrom(0, 0.5, 0.6, 0.8, 0.9, 1))
