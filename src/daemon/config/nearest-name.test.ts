import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { editDistance, nearestName } from './toml.ts'

describe('nearest name', () => {
  it('CONF-2 finds the intended name', () => {
    const known = ['per_day_usd', 'per_month_usd', 'port', 'host']
    expect(nearestName('per_day', known)).toBe(undefined)
    expect(nearestName('per_day_us', known)).toBe('per_day_usd')
    expect(nearestName('per-day-usd', known)).toBe('per_day_usd')
    expect(nearestName('prot', known)).toBe('port')
    expect(nearestName('colour', known)).toBe(undefined)
  })

  it('CONF-2 is a distance: zero to itself, symmetric, at most the longer length', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (a, b) => {
        expect(editDistance(a, a)).toBe(0)
        expect(editDistance(a, b)).toBe(editDistance(b, a))
        expect(editDistance(a, b)).toBeLessThanOrEqual(Math.max(a.length, b.length))
        if (a !== b) expect(editDistance(a, b)).toBeGreaterThan(0)
      }),
    )
  })
})
