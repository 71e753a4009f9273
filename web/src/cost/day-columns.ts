import type { SpendingReply } from '../../../src/protocol/cost-api.ts'

type Day = SpendingReply['days'][number]
export type Measure = 'cost' | 'tokens' | 'calls'

interface DayColumns {
  /** What the axis says of each. */
  columns: string[]
  series: { name: string; values: number[] }[]
}

/** More would be thinner than a line. */
const mostDays = 100
const mostModels = 5
const others = 'Other models'

/** A long time is shown by months. The dearest models have a colour each, and the others one together. */
export function columnsOf(days: readonly Day[], measure: Measure): DayColumns {
  const isLong = days.length > mostDays
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
  return ranked.slice(0, mostModels).map(([name]) => name)
}

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0)

// A day of the calendar and no moment: read and written in one and the same zone.
const dayFormat = new Intl.DateTimeFormat('en', { day: 'numeric', month: 'short', timeZone: 'UTC' })
const monthFormat = new Intl.DateTimeFormat('en', { month: 'short', year: 'numeric', timeZone: 'UTC' })
export const dayName = (day: string) => dayFormat.format(new Date(`${day}T00:00:00Z`))
const monthName = (month: string) => monthFormat.format(new Date(`${month}-01T00:00:00Z`))
