import type { ListedModel } from '../../../src/protocol/home-api.ts'

const usd = (amount: number) => `$${amount.toLocaleString('en-US', { maximumFractionDigits: 4 })}`

/** For a million tokens. What is read again from the cache is said only where it has a price of its own. */
export function priceWords({ cost_per_mtok: cost, is_offline }: ListedModel): string {
  if (is_offline) return 'free'
  if (cost === null) return 'not known: its calls are counted, not priced'
  if (cost.input === 0 && cost.output === 0) return 'free'
  const cached = cost.cache_read === cost.input ? '' : `, ${usd(cost.cache_read)} from the cache`
  return `${usd(cost.input)} in, ${usd(cost.output)} out${cached}, for a million tokens`
}
