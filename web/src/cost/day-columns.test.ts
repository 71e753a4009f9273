import { describe, expect, it } from 'vitest'
import type { SpendingReply } from '../../../src/protocol/cost-api.ts'
import { columnsOf } from './day-columns.ts'

type Day = SpendingReply['days'][number]

const nothing = {
  calls: 0,
  unpriced_calls: 0,
  input_tokens: 0,
  output_tokens: 0,
  cache_read_tokens: 0,
  cache_write_tokens: 0,
  cost_usd: 0,
}
const dayWith = (day: string, costs: Record<string, number>): Day => ({
  day,
  total: nothing,
  by_model: Object.entries(costs).map(([name, cost_usd]) => ({ name, calls: 1, tokens: 10, cost_usd })),
})

describe('columns of days', () => {
  it('has a column for each day and a series for each model, the dearest first', () => {
    const days = [dayWith('2026-11-14', { a: 1, b: 5 }), dayWith('2026-11-15', { a: 2 })]
    expect(columnsOf(days, 'cost')).toEqual({
      columns: ['Nov 14', 'Nov 15'],
      series: [
        { name: 'b', values: [5, 0] },
        { name: 'a', values: [1, 2] },
      ],
    })
    expect(columnsOf(days, 'calls').series[0]).toEqual({ name: 'a', values: [1, 1] })
  })

  it('joins what comes after the five dearest, and leaves out what has no price', () => {
    const days = [dayWith('2026-11-15', { a: 7, b: 6, c: 5, d: 4, e: 3, f: 2, g: 1, free: 0 })]
    const { series } = columnsOf(days, 'cost')
    expect(series.map(({ name }) => name)).toEqual(['a', 'b', 'c', 'd', 'e', 'Other models'])
    expect(series.at(-1)?.values).toEqual([3])
  })

  it('shows a long time by months', () => {
    const days = Array.from({ length: 120 }, (_, index) => {
      const at = new Date(Date.UTC(2026, 0, 1 + index))
      return dayWith(at.toISOString().slice(0, 10), { a: 1 })
    })
    expect(columnsOf(days, 'cost')).toEqual({
      columns: ['Jan 2026', 'Feb 2026', 'Mar 2026', 'Apr 2026'],
      series: [{ name: 'a', values: [31, 28, 31, 30] }],
    })
  })
})
