import { setImmediate as nextRound } from 'node:timers/promises'
import type { Database } from '../storage/database.ts'
import { reusableQuery } from '../storage/reusable-query.ts'
import { dayOf, startOfDay } from './periods.ts'
import { addSpent, createSpentByName, nothingSpent, type Spent } from './spent.ts'

export type SpendingPeriod = 'today' | 'week' | 'month' | 'quarter' | 'year' | 'all'

export interface Spending {
  period: SpendingPeriod
  total: Spent
  /** Every day of the period in order, also those without a call. */
  days: { day: string; total: Spent; byModel: (Spent & { name: string })[] }[]
  byModel: (Spent & { name: string })[]
  byPurpose: (Spent & { name: string })[]
  /** Null: work that belongs to no conversation. */
  bySession: (Spent & { name: string | null })[]
}

const daysOf: Record<Exclude<SpendingPeriod, 'all'>, number> = { today: 1, week: 7, month: 30, quarter: 91, year: 365 }
/** A clock that was once wrong must not ask for centuries of days. */
const mostDays = 3_660

/**
 * What was spent, day by day. Each day is a query of its own, and others run between two of them: a database answers on the
 * one thread, and a million calls are a second of work.
 */
export async function reportSpending(
  database: Database,
  query: { userId: string; period: SpendingPeriod; now: number; signal?: AbortSignal },
): Promise<Spending> {
  const { userId, period, now, signal } = query
  const total = { ...nothingSpent }
  const days: Spending['days'] = []
  const byModel = createSpentByName<string>()
  const byPurpose = createSpentByName<string>()
  const bySession = createSpentByName<string | null>()
  const count = period === 'all' ? await daysOnRecord(database, userId, now) : daysOf[period]
  for (let back = count - 1; back >= 0; back -= 1) {
    signal?.throwIfAborted()
    const from = startOfDay(now, back)
    const { rows } = await selectDay(database.read, { userId, from, to: startOfDay(now, back - 1) })
    const day = { ...nothingSpent }
    const modelsOfDay = createSpentByName<string>()
    for (const row of rows) {
      const spent = spentIn(row)
      addSpent(day, spent)
      modelsOfDay.add(row.model, spent)
      byModel.add(row.model, spent)
      byPurpose.add(row.purpose, spent)
      bySession.add(row.session_id, spent)
    }
    addSpent(total, day)
    days.push({ day: dayOf(from), total: day, byModel: modelsOfDay.dearest() })
    if (rows.length > 0) await nextRound()
  }
  const dearest = { byModel: byModel.dearest(), byPurpose: byPurpose.dearest(), bySession: bySession.dearest() }
  return { period, total, days, ...dearest }
}

async function daysOnRecord(database: Database, userId: string, now: number): Promise<number> {
  const first = await database.read
    .selectFrom('cost_ledger')
    .select('at')
    .where('user_id', '=', userId)
    .orderBy('at')
    .limit(1)
    .executeTakeFirst()
  if (!first) return 1
  const between = startOfDay(now) - startOfDay(Number(first.at))
  // Days on which the clock is changed are an hour longer or shorter.
  return Math.min(mostDays, Math.max(0, Math.round(between / 86_400_000)) + 1)
}

/** By its index on the user and the time: what lies outside the day is not read. */
const selectDay = reusableQuery((database, of: { userId: string; from: number; to: number }) =>
  database
    .selectFrom('cost_ledger')
    .select((select) => [
      'model',
      'purpose',
      'session_id',
      select.fn.countAll().as('calls'),
      select.fn.count('cost_nanousd').as('priced_calls'),
      select.fn.sum('input_tokens').as('input_tokens'),
      select.fn.sum('output_tokens').as('output_tokens'),
      select.fn.sum('cache_read_tokens').as('cache_read_tokens'),
      select.fn.sum('cache_write_tokens').as('cache_write_tokens'),
      select.fn.sum('cost_nanousd').as('cost_nanousd'),
    ])
    .where('user_id', '=', of.userId)
    .where('at', '>=', of.from)
    .where('at', '<', of.to)
    .where('state', 'in', ['settled', 'interrupted'])
    .groupBy(['model', 'purpose', 'session_id']),
)

type DayRow = Awaited<ReturnType<typeof selectDay>>['rows'][number]

function spentIn(row: DayRow): Spent {
  return {
    calls: Number(row.calls),
    unpricedCalls: Number(row.calls) - Number(row.priced_calls),
    inputTokens: Number(row.input_tokens),
    outputTokens: Number(row.output_tokens),
    cacheReadTokens: Number(row.cache_read_tokens),
    cacheWriteTokens: Number(row.cache_write_tokens),
    nanousd: Number(row.cost_nanousd ?? 0),
  }
}
