import { describe, expect, it } from 'vitest'
import { sumsOf, tierSeries, tiersOf } from './context-parts.ts'
import { requestParts } from './request-parts.ts'

const block = (name: string, tier: string, tokens: number, cached: boolean) => ({ name, tier, tokens, cached })

describe('what fills a window', () => {
  const blocks = [
    block('new messages', 'dynamic', 10, false),
    block('core', 'stable', 60, true),
    block('conversation', 'history', 30, true),
  ]

  it('is summed by what was sent before and what is fresh', () => {
    const context = { tokenizer: 't', last_request_tokens: null, threshold_tokens: 200, blocks }
    expect(sumsOf(context)).toEqual({ total: 100, cached: 90, fresh: 10, share: 0.5 })
  })

  it('has its tiers in the order in which a model reads them, unknown ones last', () => {
    expect(tiersOf([block('x', 'odd', 1, false), ...blocks])).toEqual(['stable', 'history', 'dynamic', 'odd'])
    expect(tierSeries('odd')).toBe(4)
  })

  it('tells of a past request what came out of the cache, went into it, and was fresh', () => {
    const usage = { input_tokens: 100, output_tokens: 7, cache_read_tokens: 60, cache_write_tokens: 10 }
    expect(requestParts(usage).map(({ value }) => value)).toEqual([60, 10, 30, 7])
    expect(requestParts({ ...usage, cache_read_tokens: 120 })[2]?.value).toBe(0)
  })
})
