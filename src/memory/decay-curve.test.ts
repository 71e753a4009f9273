import { describe, expect, it } from 'vitest'
import { decayCurve, strengthOf } from './decay.ts'
import type { Memory } from './memory.ts'

const dayMs = 24 * 60 * 60 * 1_000
const now = Date.parse('2026-11-15T12:00:00Z')
const memory = { tier: 'short_term', priority: 0.8, usedAt: now - 3 * dayMs, useCount: 0, cycle: 4 } as Memory

describe('decayCurve', () => {
  it('MEM-2 starts at the last use, passes through the current value, and decays further', () => {
    const state = { policy: 'time', now, cycle: 0 } as const
    const points = decayCurve(memory, state)
    expect(points[0]).toEqual({ offset: -3, strength: 0.8 })
    expect(points.find(({ offset }) => offset === 0)?.strength).toBe(strengthOf(memory, state))
    expect(points.at(-1)?.offset).toBe(21)
    expect(points.map(({ strength }) => strength)).toEqual(points.map(({ strength }) => strength).sort((a, b) => b - a))
  })

  it('MEM-2 counts whole cycles with the cycles policy', () => {
    const points = decayCurve(memory, { policy: 'cycles', now, cycle: 10 })
    expect(points.map(({ offset }) => offset)).toEqual(Array.from({ length: 57 }, (_, index) => index - 6))
    expect(points[0]?.strength).toBe(0.8)
    expect(points.at(-1)?.strength).toBe(0)
  })

  it('MEM-2 a new memory has no past', () => {
    const fresh = { ...memory, usedAt: now + dayMs }
    expect(decayCurve(fresh, { policy: 'time', now, cycle: 0 })[0]).toEqual({ offset: 0, strength: 0.8 })
  })
})
