import { expect, it } from 'vitest'
import type { Plan } from '../security/users.ts'
import { limitsOfPlan } from './ledger.ts'

const everybody = {
  perMessageNanousd: 5_000_000_000,
  perBuildNanousd: 2_000_000_000,
  perDayNanousd: 20_000_000_000,
  perMonthNanousd: null,
}
const planWith = (budget: Plan['budget']): Plan => {
  return { name: 'jive', tools: { allow: [], deny: [] }, routes: {}, budget, maxSessions: null, mode: null }
}

it('CLIENT-4 a plan overrides the default budgets that it names', () => {
  expect(limitsOfPlan(planWith({}), everybody)).toBe(everybody)
  expect(limitsOfPlan(planWith({ perDayUsd: 0.5, perMonthUsd: 3, perMessageUsd: 0 }), everybody)).toEqual({
    perMessageNanousd: 0,
    perBuildNanousd: 2_000_000_000,
    perDayNanousd: 500_000_000,
    perMonthNanousd: 3_000_000_000,
    section: 'plans.jive.budget',
  })
  expect(limitsOfPlan(planWith({ perDayUsd: null }), everybody).perDayNanousd).toBeNull()
})
