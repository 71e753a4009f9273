import type { TraceReply, TraceSpan } from '../../../src/protocol/status.ts'
import { useSessions } from '../chat/sessions.ts'
import { t } from '../strings/strings.ts'

export interface PlacedSpan {
  span: TraceSpan
  /** From 0 to 1. */
  from: number
  width: number
  tookMs: number
  isRunning: boolean
}

export interface Timeline {
  tookMs: number
  spans: PlacedSpan[]
  /** The lines of the axis with their labels. */
  ticks: { at: number; ms: number }[]
}

/** The spans of a turn as parts of its length. A running span ends now. */
export function timelineOf(trace: TraceReply, now: number): Timeline {
  const start = Date.parse(trace.started_at ?? '') || now
  const ends = trace.spans.map((span) => (span.ended_at === null ? now : Date.parse(span.ended_at)))
  const end = trace.ended_at === null ? Math.max(now, ...ends) : Math.max(Date.parse(trace.ended_at), ...ends)
  const tookMs = Math.max(1, end - start)
  const spans = trace.spans.map((span): PlacedSpan => {
    const from = Date.parse(span.started_at)
    const to = span.ended_at === null ? Math.max(now, from) : Date.parse(span.ended_at)
    return {
      span,
      from: within((from - start) / tookMs),
      width: within((to - from) / tookMs),
      tookMs: to - from,
      isRunning: span.ended_at === null,
    }
  })
  return { tookMs, spans: spans.sort((a, b) => a.from - b.from), ticks: ticksOf(tookMs) }
}

const within = (share: number) => Math.min(1, Math.max(0, share))

const maxTicks = 5

/** Round numbers, four or five of them. */
export function ticksOf(tookMs: number): Timeline['ticks'] {
  const rough = tookMs / maxTicks
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough) ?? power * 10
  const size = Math.max(1, step)
  const ticks: Timeline['ticks'] = []
  for (let ms = 0; ms <= tookMs; ms += size) ticks.push({ at: ms / tookMs, ms })
  return ticks
}

interface TraceSums {
  calls: number
  tools: number
  inputTokens: number
  cachedTokens: number
  outputTokens: number
  costUsd: number
  unpricedCalls: number
  isEstimate: boolean
  waitedMs: number
}

/** Over its own steps and all else that counts to the turn. */
export function traceSums(trace: TraceReply): TraceSums {
  const answered = trace.spans.flatMap(({ usage, cost_usd }) => (usage ? [{ usage, cost_usd }] : []))
  const calls = [
    ...answered,
    ...trace.other_calls.filter(({ state }) => state === 'settled' || state === 'estimated' || state === 'interrupted'),
  ]
  const sum = (values: number[]) => values.reduce((total, value) => total + value, 0)
  const waits = trace.spans.filter(({ kind }) => kind === 'wait')
  return {
    calls: calls.length,
    tools: trace.spans.filter(({ kind }) => kind === 'tool').length,
    inputTokens: sum(calls.map(({ usage }) => usage.input_tokens)),
    cachedTokens: sum(calls.map(({ usage }) => usage.cache_read_tokens)),
    outputTokens: sum(calls.map(({ usage }) => usage.output_tokens)),
    costUsd: sum(calls.map(({ cost_usd }) => cost_usd ?? 0)),
    unpricedCalls: calls.filter(({ cost_usd }) => cost_usd === null).length,
    isEstimate: calls.some(({ usage }) => usage.is_estimate),
    waitedMs: sum(waits.map((wait) => Date.parse(wait.ended_at ?? wait.started_at) - Date.parse(wait.started_at))),
  }
}

export function uptime(seconds: number): string {
  const minutes = Math.floor(seconds / 60)
  if (minutes < 1) return t.monitor.s(Math.floor(seconds))
  if (minutes < 60) return t.monitor.min(minutes)
  const hours = Math.floor(minutes / 60)
  return hours < 48 ? t.monitor.hMin(hours, minutes % 60) : t.monitor.days(Math.floor(hours / 24))
}

const workers: Record<string, string> = { subagent: t.monitor.subAgent, builder: t.monitor.toolBuilder }

/** The name of a session. Background sessions are named after their purpose. */
export function useSessionName(): (sessionId: string, channel?: string, contact?: string) => string {
  const sessions = useSessions()
  return (sessionId, channel = '', contact = '') => {
    const known = sessions.find(({ id }) => id === sessionId)
    return known ? (known.title ?? known.contact) : (workers[channel] ?? (contact || t.common.conversation))
  }
}

/** A background session that works for a conversation. */
export const isWork = (channel: string) => channel in workers
