import type { Tier } from '../policy/users/tier.ts'
import type { Caps } from './ledger.ts'
import { toNanousd } from './money.ts'

/** The caps of a tier's users: its own, and where it says nothing those of everybody. */
export function capsOf({ name, budget }: Tier, everybody: Caps): Caps {
  const own = Object.values(budget).some((usd) => usd !== undefined)
  if (!own) return everybody
  const { perMessageUsd, perBuildUsd, perDayUsd, perMonthUsd } = budget
  return {
    perMessageNanousd: capOf(perMessageUsd, everybody.perMessageNanousd),
    perBuildNanousd: capOf(perBuildUsd, everybody.perBuildNanousd ?? null),
    perDayNanousd: capOf(perDayUsd, everybody.perDayNanousd),
    perMonthNanousd: capOf(perMonthUsd, everybody.perMonthNanousd),
    section: `tiers.${name}.budget`,
  }
}

function capOf(usd: number | null | undefined, everybody: number | null): number | null {
  if (usd === undefined) return everybody
  return usd === null ? null : toNanousd(usd)
}

/** The caps of everybody, as the config's table `budget` has them. */
export function capsOfBudget(budget: {
  perMessageUsd: number
  perBuildUsd: number
  perDayUsd: number
  perMonthUsd: number | null
}): Caps {
  return {
    perMessageNanousd: toNanousd(budget.perMessageUsd),
    perBuildNanousd: toNanousd(budget.perBuildUsd),
    perDayNanousd: toNanousd(budget.perDayUsd),
    perMonthNanousd: budget.perMonthUsd === null ? null : toNanousd(budget.perMonthUsd),
  }
}
