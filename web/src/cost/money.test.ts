import { describe, expect, it } from 'vitest'
import { cachedShare, costText, percent, usd } from './money.ts'

describe('money', () => {
  it.each([
    [0, '$0'],
    [0.000_01, '< $0.0001'],
    [0.0312, '$0.0312'],
    [1.5, '$1.50'],
  ])('writes %d as %s', (amount, text) => expect(usd(amount)).toBe(text))

  it('COST-1 never shows what has no price as free', () => {
    expect(costText({ cost_usd: 0, calls: 3, unpriced_calls: 3 })).toBe('no price known')
    expect(costText({ cost_usd: 2, calls: 3, unpriced_calls: 1 })).toBe('$2.00 + 1 without a price')
    expect(costText({ cost_usd: 2, calls: 3, unpriced_calls: 0 })).toBe('$2.00')
  })

  it('rounds shares without making something nothing', () => {
    const plain = (share: number) => percent(share).replaceAll('\u00a0', ' ')
    expect([0, 0.001, 0.5, 0.999, 1].map(plain)).toEqual(['0 %', '< 1 %', '50 %', '> 99 %', '100 %'])
    expect(cachedShare({ input_tokens: 0, cache_read_tokens: 0 })).toBeNull()
    expect(cachedShare({ input_tokens: 200, cache_read_tokens: 50 })).toBe(0.25)
  })
})
