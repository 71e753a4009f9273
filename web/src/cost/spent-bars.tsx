import type { ReactNode } from 'react'
import type { SpentReply } from '../../../src/protocol/cost-api.ts'
import type { Measure } from './day-columns.ts'
import { cachedShare, costText, count, percent, shortCount } from './money.ts'

export interface SpentLine extends SpentReply {
  name: string
  /** Absent: its name. */
  label?: ReactNode
}

/** A bar for each name, and beside it the figures. The dearest is as wide as there is room. */
export function SpentBars(props: { caption: string; lines: readonly SpentLine[]; measure: Measure }) {
  const { caption, lines, measure } = props
  const most = Math.max(0, ...lines.map((line) => amountOf(line, measure)))
  return (
    <ul aria-label={caption} className="space-y-3">
      {lines.map((line) => (
        <li key={line.name}>
          <div className="flex items-baseline justify-between gap-3 text-sm">
            <span className="min-w-0">{line.label ?? line.name}</span>
            <span className="min-w-fit max-w-1/2 text-end tabular-nums wrap-break-word">
              {amountText(line, measure)}
            </span>
          </div>
          <div aria-hidden="true" className="my-1 h-2 overflow-hidden rounded-full bg-sunken">
            <div
              className="h-full rounded-full bg-series-1"
              style={{ width: `${most > 0 ? (amountOf(line, measure) / most) * 100 : 0}%` }}
            />
          </div>
          <p className="text-xs text-soft">{detailsOf(line, measure)}</p>
        </li>
      ))}
    </ul>
  )
}

function amountOf(line: SpentReply, measure: Measure): number {
  return { cost: line.cost_usd, tokens: line.input_tokens + line.output_tokens, calls: line.calls }[measure]
}

function amountText(line: SpentReply, measure: Measure): string {
  return measure === 'cost' ? costText(line) : count(amountOf(line, measure))
}

/** What the bar itself does not say. */
function detailsOf(line: SpentReply, measure: Measure): string {
  const cached = cachedShare(line)
  const details = [
    measure !== 'cost' && costText(line),
    measure !== 'calls' && `${count(line.calls)} ${line.calls === 1 ? 'call' : 'calls'}`,
    `${shortCount(line.input_tokens)} sent, ${shortCount(line.output_tokens)} received`,
    cached !== null && cached > 0 && `${percent(cached)} from the cache`,
  ]
  return details.filter(Boolean).join(' · ')
}
