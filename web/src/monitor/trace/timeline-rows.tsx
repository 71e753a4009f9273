import { classes } from '../../components/classes.ts'
import { duration } from '../../components/when.tsx'
import { count, usd } from '../../cost/money.ts'
import type { PlacedSpan, Timeline } from './timeline.ts'

const kinds = { model: 'Model', tool: 'Tool', wait: 'Wait', note: 'Note' }
const grounds = { model: 'bg-series-1', tool: 'bg-series-2', wait: 'bg-series-6', note: 'bg-series-3' }

/** One row for each step: what it was, and when and how long as a bar under the axis. */
export function TimelineRows({ timeline: { spans, ticks } }: { timeline: Timeline }) {
  return (
    <div>
      <div aria-hidden="true" className="relative mb-2 h-5 text-xs text-soft sm:ms-56">
        {ticks.map(({ at, ms }) => (
          <span
            key={ms}
            className="absolute top-0 whitespace-nowrap border-s border-line ps-1"
            style={{ insetInlineStart: `${at * 100}%` }}
          >
            {/* At the very end there is no room for it. */}
            {at > 0.85 ? '' : duration(ms)}
          </span>
        ))}
      </div>
      <ol className="space-y-2.5">
        {spans.map((placed) => (
          <SpanRow key={`${placed.span.seq} ${placed.span.kind} ${placed.isRunning}`} placed={placed} />
        ))}
      </ol>
    </div>
  )
}

function SpanRow({ placed }: { placed: PlacedSpan }) {
  const { span, from, width, tookMs, isRunning } = placed
  const isMoment = span.kind === 'note'
  return (
    <li className="flex flex-col gap-1 sm:flex-row sm:items-start sm:gap-0">
      <div className="min-w-0 sm:w-56 sm:shrink-0 sm:pe-4">
        <p className="truncate text-sm" title={span.name}>
          <span className="me-1.5 text-xs text-soft">{kinds[span.kind]}</span>
          <span className={classes(span.kind === 'tool' && 'font-mono text-xs')}>{span.name}</span>
        </p>
        <p className={classes('line-clamp-2 text-xs', span.is_error ? 'text-bad' : 'text-soft')} title={span.detail}>
          {span.is_error && 'Failed: '}
          {span.detail}
        </p>
      </div>
      <div className="min-w-0 flex-1">
        <div className="relative h-5 rounded bg-sunken">
          <div
            className={classes(
              'absolute inset-y-0 min-w-1 rounded',
              span.is_error ? 'bg-bad' : grounds[span.kind],
              isRunning && 'breathing',
            )}
            style={{ insetInlineStart: `${Math.min(from, 0.995) * 100}%`, width: `${width * 100}%` }}
          />
        </div>
        <p className="mt-0.5 flex flex-wrap gap-x-3 text-xs text-soft tabular-nums">
          {!isMoment && <span>{isRunning ? `${duration(tookMs)} so far` : duration(tookMs)}</span>}
          {span.usage && (
            <span>
              {count(span.usage.input_tokens)} sent
              {span.usage.cache_read_tokens > 0 && ` (${count(span.usage.cache_read_tokens)} cached)`},{' '}
              {count(span.usage.output_tokens)} received
            </span>
          )}
          {span.usage && <span>{span.cost_usd === null ? 'no price known' : usd(span.cost_usd)}</span>}
        </p>
      </div>
    </li>
  )
}
