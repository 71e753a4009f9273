import { expect, it } from 'vitest'
import type { Tier } from '../policy/users/tier.ts'
import { capsOf } from './caps-of-tier.ts'

const everybody = {
  perMessageNanousd: 5_000_000_000,
  perBuildNanousd: 2_000_000_000,
  perDayNanousd: 20_000_000_000,
  perMonthNanousd: null,
}
const tierOf = (budget: Tier['budget']): Tier => {
  return { name: 'jive', tools: { allow: [], deny: [] }, routes: {}, budget, maxSessions: null }
}

it('CLIENT-4 a tier has its own caps, and everybody’s where it says nothing', () => {
  expect(capsOf(tierOf({}), everybody)).toBe(everybody)
  expect(capsOf(tierOf({ perDayUsd: 0.5, perMonthUsd: 3, perMessageUsd: 0 }), everybody)).toEqual({
    perMessageNanousd: 0,
    perBuildNanousd: 2_000_000_000,
    perDayNanousd: 500_000_000,
    perMonthNanousd: 3_000_000_000,
    section: 'tiers.jive.budget',
  })
  expect(capsOf(tierOf({ perDayUsd: null }), everybody).perDayNanousd).toBeNull()
})
