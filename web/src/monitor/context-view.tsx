import { useCallback, useEffect, useState } from 'react'
import type { ContextReply } from '../../../src/protocol/api.ts'
import type { RequestsReply } from '../../../src/protocol/status.ts'
import { call, useAnswer } from '../api/call.ts'
import { type BarPart, Legend, StackedBar, seriesGround } from '../components/bars.tsx'
import { Button, classes } from '../components/controls.tsx'
import { Empty, Failure } from '../components/feedback.tsx'
import { DataTable, Panel, QuietLink, Screen, Section, When } from '../components/layout.tsx'
import { callCost, count, percent } from '../cost/money.ts'
import { formatList } from '../strings/format.ts'
import { t } from '../strings/strings.ts'
import { useSessionName } from './timeline.ts'

type Usage = RequestsReply['requests'][number]['usage']

const requestPartNames = [t.monitor.cacheRead, t.monitor.cacheWrite, t.monitor.new, t.monitor.received] as const

/** Fresh is what the cache has nothing to do with. */
export function requestParts(usage: Usage): BarPart[] {
  const { input_tokens, output_tokens, cache_read_tokens, cache_write_tokens } = usage
  const fresh = Math.max(0, input_tokens - cache_read_tokens - cache_write_tokens)
  const values = [cache_read_tokens, cache_write_tokens, fresh, output_tokens]
  return requestPartNames.map((name, series) => ({ name, value: values[series] ?? 0, series }))
}

type Request = RequestsReply['requests'][number]

/** Every request of a conversation, newest first, with the provider's token counts. */
function RequestList({ sessionId }: { sessionId: string }) {
  const [requests, setRequests] = useState<Request[]>([])
  const [before, setBefore] = useState<number | null>()
  const [error, setError] = useState<Error>()

  const load = useCallback(
    async (from?: number) => {
      try {
        const page = await call('traces.requests', { id: sessionId, before: from })
        setRequests((known) => (from === undefined ? page.requests : [...known, ...page.requests]))
        setBefore(page.before)
        setError(undefined)
      } catch (cause) {
        setError(cause instanceof Error ? cause : new Error(String(cause)))
      }
    },
    [sessionId],
  )
  useEffect(() => void load(), [load])

  const most = Math.max(1, ...requests.map(({ usage }) => usage.input_tokens + usage.output_tokens))
  return (
    <>
      {error && <Failure error={error} onRetry={() => void load(before ?? undefined)} />}
      {before !== undefined && requests.length === 0 && (
        <Empty title={t.monitor.noRequestsYet}>{t.monitor.eachModelRequestConversation}</Empty>
      )}
      {requests.length > 0 && <Legend names={requestPartNames} />}
      <ol className="mt-3 space-y-3">
        {requests.map((request) => (
          <li key={request.seq}>
            <RequestLine request={request} sessionId={sessionId} most={most} />
          </li>
        ))}
      </ol>
      {before !== undefined && before !== null && (
        <Button className="mt-4" onClick={() => void load(before)}>
          {t.monitor.showEarlier}
        </Button>
      )}
    </>
  )
}

function RequestLine({ request, sessionId, most }: { request: Request; sessionId: string; most: number }) {
  const parts = requestParts(request.usage)
  const told = parts.filter(({ value }) => value > 0).map(({ name, value }) => `${name.toLowerCase()} ${count(value)}`)
  return (
    <>
      <div className="mb-1 flex flex-wrap items-baseline gap-x-3 text-xs text-soft">
        <When at={request.at} />
        <span>{request.model}</span>
        <span>{callCost(request)}</span>
        {request.turn_id !== null && (
          <QuietLink href={`/monitor/turn/${sessionId}/${request.turn_id}`}>{t.common.timeline}</QuietLink>
        )}
      </div>
      <StackedBar isThin label={formatList(told) || t.monitor.noTokenCount} parts={parts} most={most} />
      <p aria-hidden="true" className="mt-0.5 text-xs text-soft">
        {told.join(' · ') || t.monitor.noTokenCount}
      </p>
    </>
  )
}

type Block = ContextReply['blocks'][number]

/** From static to new content: the order in which a model reads it, and in which it can be cached. */
const tiers = ['stable', 'semi_stable', 'history', 'dynamic']

const tierNames: Record<string, string> = {
  stable: t.monitor.static,
  semi_stable: t.monitor.changesSometimes,
  history: t.common.conversation,
  dynamic: t.monitor.new,
}
const tierName = (tier: string) => tierNames[tier] ?? tier

const blockNames: Record<string, string> = {
  tools: t.common.tools,
  core: t.monitor.systemPrompt,
  conversation: t.monitor.conversationHistory,
  'new messages': t.monitor.newSinceLastRequest,
}
const blockName = (name: string) => blockNames[name] ?? name

/** The color number of a group; an unknown group has the last one. */
export function layerSeries(tier: string): number {
  const place = tiers.indexOf(tier)
  return place < 0 ? tiers.length : place
}

interface ContextSums {
  total: number
  cached: number
  fresh: number
  /** Of what may be in it before the oldest part is summarized. */
  share: number
}

export function sumsOf({ blocks, threshold_tokens }: ContextReply): ContextSums {
  const sum = (of: readonly Block[]) => of.reduce((total, { tokens }) => total + tokens, 0)
  const total = sum(blocks)
  const cached = sum(blocks.filter((block) => block.cached))
  return { total, cached, fresh: total - cached, share: total / Math.max(1, threshold_tokens) }
}

/** The groups in their order. */
export function layersOf(blocks: readonly Block[]): string[] {
  const found = [...new Set(blocks.map(({ tier }) => tier))]
  return found.sort((a, b) => layerSeries(a) - layerSeries(b))
}

/** The window as one bar: a color for each group, paler where the provider probably has it in its cache. */
function WindowPicture({ context }: { context: ContextReply }) {
  const { blocks, threshold_tokens: threshold, last_request_tokens: last, tokenizer } = context
  const { total, cached, fresh, share } = sumsOf(context)
  const label = t.monitor.tokensCachedNew(count(total), count(threshold), count(cached), count(fresh))
  return (
    <>
      <StackedBar
        label={label}
        most={total}
        parts={blocks.map(({ name, tier, tokens, cached: isPale }) => ({
          name: `${blockName(name)}: ${count(tokens)}`,
          value: tokens,
          series: layerSeries(tier),
          isPale,
        }))}
      />
      <ul className="mt-2 flex flex-wrap gap-x-4 gap-y-1 text-xs text-soft">
        {layersOf(blocks).map((tier) => (
          <li key={tier} className="flex items-center gap-1.5">
            <span aria-hidden="true" className={classes('size-2.5 rounded-sm', seriesGround(layerSeries(tier)))} />
            {tierName(tier)}
          </li>
        ))}
        <li>{t.monitor.lighterCached}</li>
      </ul>
      <div aria-hidden="true" className="mt-4 h-2 overflow-hidden rounded-full bg-sunken">
        <div
          className={classes('h-full rounded-full', share > 0.85 ? 'bg-warn' : 'bg-accent')}
          style={{ width: `${Math.min(1, share) * 100}%` }}
        />
      </div>
      <p className="mt-1.5 text-sm text-soft">
        {t.monitor.aboutTokensOlderMessages(
          count(total),
          percent(share),
          count(threshold),
          count(cached),
          count(fresh),
        )}
        {last !== null && t.monitor.lastRequestReplyCounted(count(last))}
      </p>
      <div className="mt-4">
        <DataTable
          caption={t.monitor.contextWindowPart}
          columns={[
            { label: t.monitor.part },
            { label: t.common.kind, isExtra: true },
            { label: t.monitor.tokens, isNumber: true },
            { label: t.monitor.share, isNumber: true },
            { label: t.monitor.cache },
          ]}
          rows={blocks.map(({ name, tier, tokens, cached: isCached }) => ({
            key: `${tier} ${name}`,
            cells: [
              <span key="name" className="flex items-center gap-2">
                <span
                  aria-hidden="true"
                  className={classes(
                    'size-2.5 shrink-0 rounded-sm',
                    seriesGround(layerSeries(tier)),
                    isCached && 'opacity-55',
                  )}
                />
                {blockName(name)}
              </span>,
              tierName(tier),
              count(tokens),
              percent(total > 0 ? tokens / total : 0),
              isCached ? t.monitor.cachedLower : t.monitor.newLower,
            ],
          }))}
        />
      </div>
      <p className="mt-3 text-xs text-soft">{t.monitor.countedProvidersCountSlightly(tokenizer)}</p>
    </>
  )
}

/** The context window of a conversation: the content of the next request, and the size of each earlier one. */
export function ContextView({ sessionId }: { sessionId: string }) {
  const context = useAnswer('sessions.context', { id: sessionId }, { everyMs: 5_000 })
  const nameOf = useSessionName()
  return (
    <Screen
      title={t.monitor.contextWindow}
      intro={nameOf(sessionId)}
      actions={
        <span className="flex flex-wrap gap-4 text-sm">
          <QuietLink href="/monitor">{t.monitor.monitor}</QuietLink>
          <QuietLink href={`/talk/${sessionId}`}>{t.common.conversation}</QuietLink>
          <QuietLink href={`/monitor/turn/${sessionId}`}>{t.monitor.lastTurn}</QuietLink>
        </span>
      }
    >
      <Section title={t.monitor.nextRequest}>
        {context.error && <Failure error={context.error} onRetry={context.refresh} />}
        {context.data && (
          <Panel>
            <WindowPicture context={context.data} />
          </Panel>
        )}
      </Section>
      <Section title={t.monitor.previousRequests}>
        <RequestList sessionId={sessionId} />
      </Section>
    </Screen>
  )
}
