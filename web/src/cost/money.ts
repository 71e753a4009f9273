import type { SpendingReply } from '../../../src/protocol/status.ts'
import { formatDate, formatNumber, formatPercent, formatUsd } from '../strings/format.ts'
import { t } from '../strings/strings.ts'

/** `$0.0312`: as many places as a small sum needs. */
export function usd(amount: number): string {
  if (amount === 0) return formatUsd(0, 0)
  if (amount < 0.0001) return `< ${formatUsd(0.0001, 4)}`
  return formatUsd(amount, amount < 0.1 ? 4 : 2)
}

/** A cost with what is known of it: calls without a price are named, not counted as zero. */
export function costText(spent: {
  cost_usd: number
  calls: number
  unpriced_calls: number
  estimated_calls: number
}): string {
  if (spent.unpriced_calls === spent.calls && spent.calls > 0) return t.common.noPrice
  const amount = spent.estimated_calls > 0 ? t.cost.about(usd(spent.cost_usd)) : usd(spent.cost_usd)
  return spent.unpriced_calls === 0 ? amount : t.cost.withoutAPriceAmount(amount, spent.unpriced_calls)
}

/** The cost of one call. */
export function callCost({ cost_usd, usage }: { cost_usd: number | null; usage: { is_estimate?: true | undefined } }) {
  if (cost_usd === null) return t.common.noPrice
  return usage.is_estimate ? t.cost.aboutEstimated(usd(cost_usd)) : usd(cost_usd)
}

export const count = (amount: number) => formatNumber(amount)
/** `12.3K` */
export const shortCount = (amount: number) => formatNumber(amount, { notation: 'compact', maximumFractionDigits: 1 })

export function percent(share: number): string {
  const rounded = Math.round(share * 100)
  // A little is not nothing, and nearly all is not all.
  if (rounded === 0 && share > 0) return `<\u00a0${formatPercent(0.01)}`
  if (rounded === 100 && share < 1) return `>\u00a0${formatPercent(0.99)}`
  return formatPercent(share)
}

/** The share of input tokens from the provider's cache; null without input. */
export function cachedShare(usage: { input_tokens: number; cache_read_tokens: number }): number | null {
  return usage.input_tokens === 0 ? null : Math.min(1, usage.cache_read_tokens / usage.input_tokens)
}

type Day = SpendingReply['days'][number]
export type Measure = 'cost' | 'tokens' | 'calls'

interface DayColumns {
  /** The labels of the axis. */
  columns: string[]
  series: { name: string; values: number[] }[]
}

/** More would be thinner than a line. */
const maxDays = 100
const maxModels = 5
const others = t.cost.otherModels

/** A long time is shown by months. The most expensive models have a color each; the others share one. */
export function columnsOf(days: readonly Day[], measure: Measure): DayColumns {
  const isLong = days.length > maxDays
  const groups = Map.groupBy(days, ({ day }) => (isLong ? day.slice(0, 7) : day))
  const amounts = [...groups.values()].map((group) => amountsOf(group, measure))
  const names = namesOf(amounts)
  const series = names.map((name) => ({ name, values: amounts.map((amount) => amount.get(name) ?? 0) }))
  const shown = new Set(names)
  const rest = amounts.map((amount) => sum([...amount].flatMap(([name, value]) => (shown.has(name) ? [] : [value]))))
  if (rest.some((value) => value > 0)) series.push({ name: others, values: rest })
  return { columns: [...groups.keys()].map((key) => (isLong ? monthName(key) : dayName(key))), series }
}

function amountsOf(days: readonly Day[], measure: Measure): Map<string, number> {
  const amounts = new Map<string, number>()
  for (const line of days.flatMap(({ by_model }) => by_model)) {
    const amount = { cost: line.cost_usd, tokens: line.tokens, calls: line.calls }[measure]
    amounts.set(line.name, (amounts.get(line.name) ?? 0) + amount)
  }
  return amounts
}

/** Those with the most of all. */
function namesOf(amounts: readonly Map<string, number>[]): string[] {
  const totals = new Map<string, number>()
  for (const [name, value] of amounts.flatMap((amount) => [...amount])) {
    totals.set(name, (totals.get(name) ?? 0) + value)
  }
  const ranked = [...totals].filter(([, value]) => value > 0).sort((a, b) => b[1] - a[1])
  return ranked.slice(0, maxModels).map(([name]) => name)
}

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0)

// A day of the calendar and no moment: read and written in one and the same zone.
export const dayName = (day: string) =>
  formatDate(`${day}T00:00:00Z`, { day: 'numeric', month: 'short', timeZone: 'UTC' })
const monthName = (month: string) =>
  formatDate(`${month}-01T00:00:00Z`, { month: 'short', year: 'numeric', timeZone: 'UTC' })
