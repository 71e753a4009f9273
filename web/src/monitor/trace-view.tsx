import { useEffect, useMemo, useState } from 'react'
import type { TraceReply } from '../../../src/protocol/status.ts'
import { useAnswer } from '../api/call.ts'
import { classes } from '../components/controls.tsx'
import { Empty, Failure } from '../components/feedback.tsx'
import { DataTable, duration, FieldList, Panel, QuietLink, Screen, Section, When } from '../components/layout.tsx'
import { purposeName } from '../cost/cost-screen.tsx'
import { callCost, count, percent, usd } from '../cost/money.ts'
import { formatDate } from '../strings/format.ts'
import { t } from '../strings/strings.ts'
import { type PlacedSpan, type Timeline, timelineOf, traceSums } from './timeline.ts'

type Call = TraceReply['other_calls'][number]

const states: Record<Call['state'], string> = {
  settled: '',
  estimated: '',
  reserved: t.monitor.running,
  interrupted: t.monitor.interrupted,
  failed: t.monitor.failedNotCharged,
}

/** Calls of what worked for the turn: they are steps of other sessions, or brought nothing. */
function OtherCalls({ calls }: { calls: readonly Call[] }) {
  return (
    <DataTable
      caption={t.monitor.otherCallsChargedTurn}
      columns={[
        { label: t.monitor.purpose },
        { label: t.monitor.model, isExtra: true },
        { label: t.common.when },
        { label: t.monitor.tokens, isNumber: true, isExtra: true },
        { label: t.common.cost, isNumber: true },
      ]}
      rows={calls.map((call, index) => ({
        key: `${index}`,
        cells: [
          <span key="for">
            {call.session_id !== null && call.purpose === 'subagent' ? (
              <QuietLink href={`/monitor/turn/${call.session_id}`}>{purposeName(call.purpose)}</QuietLink>
            ) : (
              purposeName(call.purpose)
            )}
            {states[call.state]}
          </span>,
          call.model,
          <When key="when" at={call.at} />,
          call.state === 'reserved' ? '' : count(call.usage.input_tokens + call.usage.output_tokens),
          call.state === 'reserved' ? '' : callCost(call),
        ],
      }))}
    />
  )
}

const kinds = { model: t.monitor.model, tool: t.monitor.tool, wait: t.monitor.wait, note: t.monitor.note }
const grounds = { model: 'bg-series-1', tool: 'bg-series-2', wait: 'bg-series-6', note: 'bg-series-3' }

/** One row per step, with a bar for its time. */
function TimelineRows({ timeline: { spans, ticks } }: { timeline: Timeline }) {
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
        <p dir="auto" className="truncate text-sm" title={span.name}>
          <span className="me-1.5 text-xs text-soft">{kinds[span.kind]}</span>
          <span className={classes(span.kind === 'tool' && 'font-mono text-xs')}>{span.name}</span>
        </p>
        <p
          dir="auto"
          className={classes('line-clamp-2 text-xs', span.is_error ? 'text-bad' : 'text-soft')}
          title={span.detail}
        >
          {span.is_error && t.monitor.failed}
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
          {!isMoment && <span>{isRunning ? t.monitor.soFar(duration(tookMs)) : duration(tookMs)}</span>}
          {span.usage && (
            <span>
              {t.monitor.sent(count(span.usage.input_tokens))}
              {span.usage.cache_read_tokens > 0 && t.monitor.cached(count(span.usage.cache_read_tokens))}
              {t.monitor.receivedOutputTokens(count(span.usage.output_tokens))}
            </span>
          )}
          {span.usage && <span>{callCost({ cost_usd: span.cost_usd, usage: span.usage })}</span>}
        </p>
      </div>
    </li>
  )
}

const outcomes: Record<NonNullable<TraceReply['outcome']>, string> = {
  completed: t.monitor.done,
  question: t.monitor.endedQuestion,
  stopped: t.monitor.stoppedByYou,
  round_limit: t.monitor.tooManySteps,
  repeated_failure: t.monitor.repeatedFailure,
  budget: t.monitor.spendingLimit,
  failed: t.monitor.theModelFailed,
}

function TraceFacts({ trace, tookMs }: { trace: TraceReply; tookMs: number }) {
  const sums = traceSums(trace)
  const began = new Date(trace.started_at ?? '')
  const price = sums.unpricedCalls > 0 ? t.monitor.callsWithoutPrice(sums.unpricedCalls) : ''
  const cost = sums.isEstimate ? t.monitor.aboutEstimated(usd(sums.costUsd)) : usd(sums.costUsd)
  return (
    <div className="mb-6">
      <FieldList
        facts={[
          [t.monitor.startedTitle, formatDate(began)],
          [t.monitor.outcome, trace.outcome === null ? t.monitor.stillRunning : outcomes[trace.outcome]],
          [t.monitor.duration, duration(tookMs)],
          [t.monitor.timeWaitingRetry, sums.waitedMs > 0 && duration(sums.waitedMs)],
          [t.common.calls, t.monitor.modelCallsToolCalls(sums.calls, sums.tools)],
          [
            t.monitor.tokens,
            t.monitor.sentReceivedInputTokens(
              count(sums.inputTokens),
              count(sums.outputTokens),
              sums.cachedTokens > 0 ? t.monitor.cachedCachedTokens(percent(sums.cachedTokens / sums.inputTokens)) : '',
            ),
          ],
          [t.common.cost, sums.unpricedCalls === sums.calls && sums.calls > 0 ? t.common.noPrice : cost + price],
        ]}
      />
    </div>
  )
}

/** How a turn went: every call of the model, every tool and every wait on one line of time. Without a turn: the newest. */
export function TraceView({ sessionId, turnId }: { sessionId: string; turnId: string | undefined }) {
  const [isRunning, setIsRunning] = useState(false)
  const answer = useAnswer('traces.turn', { id: sessionId, turn: turnId }, isRunning ? { everyMs: 1_000 } : {})
  const trace = answer.data
  useEffect(() => setIsRunning(typeof trace?.turn_id === 'string' && trace.ended_at === null), [trace])
  const timeline = useMemo(() => trace && timelineOf(trace, Date.now()), [trace])
  return (
    <Screen
      title={t.monitor.turnTimeline}
      intro={trace?.message}
      actions={
        <span className="flex flex-wrap gap-4 text-sm">
          <QuietLink href="/monitor">{t.monitor.activity}</QuietLink>
          <QuietLink href={`/talk/${sessionId}`}>{t.common.conversation}</QuietLink>
          <QuietLink href={`/monitor/context/${sessionId}`}>{t.monitor.contextWindow}</QuietLink>
        </span>
      }
    >
      {answer.error && <Failure error={answer.error} onRetry={answer.refresh} />}
      {trace?.turn_id === null && <Empty title={t.monitor.noStepsYet}>{t.monitor.eachStepReplyListed}</Empty>}
      {trace && timeline && trace.turn_id !== null && (
        <>
          <TraceFacts trace={trace} tookMs={timeline.tookMs} />
          <Section title={t.monitor.steps}>
            <Panel>
              <TimelineRows timeline={timeline} />
            </Panel>
          </Section>
          {trace.other_calls.length > 0 && (
            <Section title={t.monitor.otherCalls}>
              <OtherCalls calls={trace.other_calls} />
            </Section>
          )}
        </>
      )}
    </Screen>
  )
}
