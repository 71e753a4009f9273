import type { RequestsReply } from '../../../../src/protocol/trace-api.ts'
import type { BarPart } from '../../components/stacked-bar.tsx'

type Usage = RequestsReply['requests'][number]['usage']

export const requestPartNames = ['Read from the cache', 'Written to the cache', 'Fresh', 'Received'] as const

/** Fresh is what the cache has nothing to do with. */
export function requestParts(usage: Usage): BarPart[] {
  const { input_tokens, output_tokens, cache_read_tokens, cache_write_tokens } = usage
  const fresh = Math.max(0, input_tokens - cache_read_tokens - cache_write_tokens)
  const values = [cache_read_tokens, cache_write_tokens, fresh, output_tokens]
  return requestPartNames.map((name, series) => ({ name, value: values[series] ?? 0, series }))
}
