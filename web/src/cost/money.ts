/** `$0.0312`: as many places as a small sum needs. */
export function usd(amount: number): string {
  if (amount === 0) return '$0'
  if (amount < 0.0001) return '< $0.0001'
  return `$${amount.toFixed(amount < 0.1 ? 4 : 2)}`
}

/** What is known of a cost: where calls had no price, that is said and not counted as nothing. */
export function costText(spent: { cost_usd: number; calls: number; unpriced_calls: number }): string {
  if (spent.unpriced_calls === 0) return usd(spent.cost_usd)
  if (spent.unpriced_calls === spent.calls) return 'no price known'
  return `${usd(spent.cost_usd)} + ${spent.unpriced_calls} without a price`
}

const whole = new Intl.NumberFormat('en')
const short = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 })

export const count = (amount: number) => whole.format(amount)
/** `12.3K` */
export const shortCount = (amount: number) => short.format(amount)

export function percent(share: number): string {
  const rounded = Math.round(share * 100)
  // A little is not nothing, and nearly all is not all.
  if (rounded === 0 && share > 0) return '<\u00a01\u00a0%'
  if (rounded === 100 && share < 1) return '>\u00a099\u00a0%'
  return `${rounded}\u00a0%`
}

/** How much of what was sent came out of the provider's cache; null where nothing was sent. */
export function cachedShare(usage: { input_tokens: number; cache_read_tokens: number }): number | null {
  return usage.input_tokens === 0 ? null : Math.min(1, usage.cache_read_tokens / usage.input_tokens)
}
