import type { ContextReply } from '../../../../src/protocol/api.ts'
import { classes } from '../../components/classes.ts'
import { DataTable } from '../../components/data-table.tsx'
import { seriesGround } from '../../components/series.ts'
import { StackedBar } from '../../components/stacked-bar.tsx'
import { count, percent } from '../../cost/money.ts'
import { blockName, sumsOf, tierName, tierSeries, tiersOf } from './context-parts.ts'

/** The window as one bar: a colour for each tier, paler where the provider is likely to have it in its cache. */
export function WindowPicture({ context }: { context: ContextReply }) {
  const { blocks, threshold_tokens: threshold, last_request_tokens: last, tokenizer } = context
  const { total, cached, fresh, share } = sumsOf(context)
  const label = `${count(total)} tokens of ${count(threshold)}: ${count(cached)} sent before, ${count(fresh)} fresh.`
  return (
    <>
      <StackedBar
        label={label}
        most={total}
        parts={blocks.map(({ name, tier, tokens, cached: isPale }) => ({
          name: `${blockName(name)}: ${count(tokens)}`,
          value: tokens,
          series: tierSeries(tier),
          isPale,
        }))}
      />
      <ul className="mt-2 flex flex-wrap gap-x-4 gap-y-1 text-xs text-soft">
        {tiersOf(blocks).map((tier) => (
          <li key={tier} className="flex items-center gap-1.5">
            <span aria-hidden="true" className={classes('size-2.5 rounded-sm', seriesGround(tierSeries(tier)))} />
            {tierName(tier)}
          </li>
        ))}
        <li>paler: sent before, the provider may have it in its cache</li>
      </ul>
      <div aria-hidden="true" className="mt-4 h-2 overflow-hidden rounded-full bg-sunken">
        <div
          className={classes('h-full rounded-full', share > 0.85 ? 'bg-warn' : 'bg-accent')}
          style={{ width: `${Math.min(1, share) * 100}%` }}
        />
      </div>
      <p className="mt-1.5 text-sm text-soft">
        About {count(total)} tokens, {percent(share)} of the {count(threshold)} at which the oldest part is summarised.{' '}
        {count(cached)} were sent before, {count(fresh)} are fresh.
        {last !== null && ` The newest request and its reply held ${count(last)}, as the provider counted.`}
      </p>
      <div className="mt-4">
        <DataTable
          caption="What fills the window"
          columns={[
            { label: 'Part' },
            { label: 'Kind', isExtra: true },
            { label: 'Tokens', isNumber: true },
            { label: 'Share', isNumber: true },
            { label: 'Cache' },
          ]}
          rows={blocks.map(({ name, tier, tokens, cached: isCached }) => ({
            key: `${tier} ${name}`,
            cells: [
              <span key="name" className="flex items-center gap-2">
                <span
                  aria-hidden="true"
                  className={classes(
                    'size-2.5 shrink-0 rounded-sm',
                    seriesGround(tierSeries(tier)),
                    isCached && 'opacity-55',
                  )}
                />
                {blockName(name)}
              </span>,
              tierName(tier),
              count(tokens),
              percent(total > 0 ? tokens / total : 0),
              isCached ? 'cached' : 'fresh',
            ],
          }))}
        />
      </div>
      <p className="mt-3 text-xs text-soft">Counted here with {tokenizer}; providers count a little differently.</p>
    </>
  )
}
