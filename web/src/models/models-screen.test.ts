import { describe, expect, it } from 'vitest'
import type { ListedModel } from '../../../src/protocol/status.ts'
import { priceWords } from './models-screen.tsx'

const model: ListedModel = {
  ...{ id: 'a/b', provider: 'a', provider_type: null, has_key: null, max_tokens: 1, max_context_tokens: 1 },
  ...{ supports_vision: false, is_offline: false, cost_per_mtok: null },
}
const cost = (input: number, output: number, cache_read: number) => ({
  cost_per_mtok: { input, output, cache_read, cache_write: input },
})

describe('priceWords', () => {
  it.each([
    [{ is_offline: true }, 'free'],
    [{}, 'unknown (calls are counted without cost)'],
    [cost(0, 0, 0), 'free'],
    [cost(3, 15, 3), '$3 in, $15 out per million tokens'],
    [cost(3, 15, 0.3), '$3 in, $15 out, $0.3 cached per million tokens'],
  ])('of %j is %j', (more, words) => {
    expect(priceWords({ ...model, ...more })).toBe(words)
  })
})
