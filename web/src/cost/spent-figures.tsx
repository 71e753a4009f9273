import type { SpentReply } from '../../../src/protocol/cost-api.ts'
import { cachedShare, count, percent, shortCount, usd } from './money.ts'

/** The sums of the period, large. */
export function SpentFigures({ total }: { total: SpentReply }) {
  const cached = cachedShare(total)
  const isUnpriced = total.calls > 0 && total.calls === total.unpriced_calls
  const figures = [
    [
      'Spent',
      isUnpriced ? 'unknown' : usd(total.cost_usd),
      isUnpriced ? 'no model had a price' : 'by models with a price',
    ],
    ['Calls', count(total.calls), total.unpriced_calls > 0 ? `${count(total.unpriced_calls)} without a price` : ''],
    [
      'Tokens',
      shortCount(total.input_tokens + total.output_tokens),
      `${shortCount(total.output_tokens)} of them written`,
    ],
    ['From the cache', cached === null ? '–' : percent(cached), 'of what was sent'],
  ] as const
  return (
    <dl className="mb-6 grid grid-cols-2 gap-3 lg:grid-cols-4">
      {figures.map(([name, value, detail]) => (
        <div key={name} className="rounded-xl bg-sunken px-4 py-3">
          <dt className="text-sm text-soft">{name}</dt>
          <dd className="text-xl font-semibold tabular-nums">{value}</dd>
          <dd className="min-h-4 text-xs text-soft">{detail}</dd>
        </div>
      ))}
    </dl>
  )
}
