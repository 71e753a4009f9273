import type { Database } from '../storage/database.ts'
import { toUsd } from './money.ts'
import { startOfDay } from './periods.ts'

export type CostPeriod = 'today' | 'week' | 'month' | 'all'

export interface CostReport {
  period: CostPeriod
  totalUsd: number
  calls: number
  /** Calls of models without a price: their cost is unknown, not zero. */
  unpricedCalls: number
  byModel: {
    model: string
    calls: number
    inputTokens: number
    outputTokens: number
    cacheReadTokens: number
    cacheWriteTokens: number
    /** Null where the model has no price. */
    costUsd: number | null
  }[]
}

export async function reportCost(
  database: Database,
  query: { userId: string; period: CostPeriod; now: number },
): Promise<CostReport> {
  const daysBack = { today: 0, week: 6, month: 29, all: null }[query.period]
  const since = daysBack === null ? 0 : startOfDay(query.now, daysBack)
  const rows = await database.read
    .selectFrom('cost_ledger')
    .select((select) => [
      'model',
      select.fn.countAll().as('calls'),
      select.fn.sum('input_tokens').as('input_tokens'),
      select.fn.sum('output_tokens').as('output_tokens'),
      select.fn.sum('cache_read_tokens').as('cache_read_tokens'),
      select.fn.sum('cache_write_tokens').as('cache_write_tokens'),
      select.fn.sum('cost_nanousd').as('cost_nanousd'),
    ])
    .where('user_id', '=', query.userId)
    .where('at', '>=', since)
    .where('state', 'in', ['settled', 'interrupted'])
    .groupBy('model')
    .orderBy('model')
    .execute()
  const byModel = rows.map((row) => ({
    model: row.model,
    calls: Number(row.calls),
    inputTokens: Number(row.input_tokens),
    outputTokens: Number(row.output_tokens),
    cacheReadTokens: Number(row.cache_read_tokens),
    cacheWriteTokens: Number(row.cache_write_tokens),
    costUsd: row.cost_nanousd === null ? null : toUsd(Number(row.cost_nanousd)),
  }))
  const sum = (values: number[]) => values.reduce((total, value) => total + value, 0)
  return {
    period: query.period,
    totalUsd: toUsd(rows.reduce((total, row) => total + Number(row.cost_nanousd ?? 0), 0)),
    calls: sum(byModel.map((row) => row.calls)),
    unpricedCalls: sum(byModel.filter((row) => row.costUsd === null).map((row) => row.calls)),
    byModel,
  }
}
