import { describe, expect, it } from 'vitest'
import type { SpendingReply } from '../../../src/protocol/status.ts'
import { cachedShare, columnsOf, costText, percent, usd } from './money.ts'

describe('money', () => {
  it.each([
    [0, '$0'],
    [0.000_01, '< $0.0001'],
    [0.0312, '$0.0312'],
    [1.5, '$1.50'],
  ])('writes %d as %s', (amount, text) => expect(usd(amount)).toBe(text))

  it('COST-1 never shows a call without a price as free', () => {
    expect(costText({ cost_usd: 0, calls: 3, unpriced_calls: 3, estimated_calls: 0 })).toBe('no price')
    expect(costText({ cost_usd: 2, calls: 3, unpriced_calls: 1, estimated_calls: 0 })).toBe('$2.00 + 1 without a price')
    expect(costText({ cost_usd: 2, calls: 3, unpriced_calls: 0, estimated_calls: 0 })).toBe('$2.00')
    expect(costText({ cost_usd: 2, calls: 3, unpriced_calls: 0, estimated_calls: 1 })).toBe('about $2.00')
  })

  it('rounds shares, but never to zero', () => {
    const plain = (share: number) => percent(share).replaceAll('\u00a0', ' ')
    expect([0, 0.001, 0.5, 0.999, 1].map(plain)).toEqual(['0%', '< 1%', '50%', '> 99%', '100%'])
    expect(cachedShare({ input_tokens: 0, cache_read_tokens: 0 })).toBeNull()
    expect(cachedShare({ input_tokens: 200, cache_read_tokens: 50 })).toBe(0.25)
  })
})

type Day = SpendingReply['days'][number]

const nothing = {
  calls: 0,
  unpriced_calls: 0,
  estimated_calls: 0,
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
  it('has a column for each day and a series for each model, the most expensive first', () => {
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

  it('joins all models after the five most expensive, and leaves out models without a price', () => {
    const days = [dayWith('2026-11-15', { a: 7, b: 6, c: 5, d: 4, e: 3, f: 2, g: 1, free: 0 })]
    const { series } = columnsOf(days, 'cost')
    expect(series.map(({ name }) => name)).toEqual(['a', 'b', 'c', 'd', 'e', 'Other models'])
    expect(series.at(-1)?.values).toEqual([3])
  })

  it('shows a long period by months', () => {
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
