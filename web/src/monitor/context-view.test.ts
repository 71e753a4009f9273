import { describe, expect, it } from 'vitest'
import { layerSeries, layersOf, requestParts, sumsOf } from './context-view.tsx'

const block = (name: string, tier: string, tokens: number, cached: boolean) => ({ name, tier, tokens, cached })

describe('the content of a context window', () => {
  const blocks = [
    block('new messages', 'dynamic', 10, false),
    block('core', 'stable', 60, true),
    block('conversation', 'history', 30, true),
  ]

  it('sums cached and new tokens', () => {
    const context = { tokenizer: 't', last_request_tokens: null, threshold_tokens: 200, blocks }
    expect(sumsOf(context)).toEqual({ total: 100, cached: 90, fresh: 10, share: 0.5 })
  })

  it('orders its groups as a model reads them, unknown ones last', () => {
    expect(layersOf([block('x', 'odd', 1, false), ...blocks])).toEqual(['stable', 'history', 'dynamic', 'odd'])
    expect(layerSeries('odd')).toBe(4)
  })

  it('splits a past request into cache reads, cache writes and new tokens', () => {
    const usage = { input_tokens: 100, output_tokens: 7, cache_read_tokens: 60, cache_write_tokens: 10 }
    expect(requestParts(usage).map(({ value }) => value)).toEqual([60, 10, 30, 7])
    expect(requestParts({ ...usage, cache_read_tokens: 120 })[2]?.value).toBe(0)
  })
})
