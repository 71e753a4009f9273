import { monitorEventLoopDelay, performance } from 'node:perf_hooks'
import { z } from 'zod'
import { type Clock, readRetryAfter, sleep } from '../clock.ts'
import { parseJson } from '../json.ts'
import type { WorkContext } from '../work.ts'
import type { MetricReading } from './metrics.ts'
import { createTelemetry, type EndedSpan, type Telemetry } from './telemetry.ts'

/** Measures, and exports if an address is given. Without one, nothing is sent and no timer runs. */
export function openTelemetry(dependencies: {
  settings: {
    /** Complete addresses; null disables the export. */
    traces: string | null
    metrics: string | null
    headers: Readonly<Record<string, string>>
    timeoutMs: number
    metricsIntervalMs: number
  }
  resource: Resource
  work: WorkContext
  fetch: typeof globalThis.fetch
  /** Removes secrets from exported data, in case a name contains one. */
  redact: (text: string) => string
  clock: Clock
  random?: () => number
  now?: () => number
}) {
  const { settings, resource, work, redact, clock, random = Math.random, now } = dependencies
  const startedAt = clock.now()
  const sender = (url: string) => createOtlpSender({ ...settings, ...dependencies, url, random })
  const dropped = (signal: 'traces' | 'metrics') => (reason: DropReason, count: number) =>
    telemetry.add(
      'familiar.telemetry.dropped',
      { 'familiar.telemetry.signal': signal, 'familiar.telemetry.reason': reason },
      count,
    )

  const spans =
    settings.traces === null
      ? undefined
      : createSpanExport({
          send: sender(settings.traces),
          body: (ended) => redact(JSON.stringify(tracesBody(resource, ended))),
          onDropped: dropped('traces'),
          clock,
        })
  const telemetry = createTelemetry({ work, onSpan: spans?.push, ...(now && { now }) })
  const observed = observeProcess(telemetry)
  const metrics =
    settings.metrics === null
      ? undefined
      : startMetricExport({
          send: sender(settings.metrics),
          body: async () =>
            redact(JSON.stringify(metricsBody(resource, await telemetry.read(), { startedAt, now: clock.now() }))),
          onDropped: dropped('metrics'),
          everyMs: settings.metricsIntervalMs,
          clock,
        })

  return {
    telemetry,
    /** Sends the rest, as far as possible within `graceMs`. */
    async close(graceMs: number): Promise<void> {
      await Promise.all([spans?.close(graceMs), metrics?.close(graceMs)])
      observed.close()
    },
  }
}

/** Exports cumulative values periodically: a lost request is covered by the next one. */
function startMetricExport(dependencies: {
  send: OtlpSender
  body(): Promise<string>
  onDropped(reason: DropReason, count: number): void
  everyMs: number
  clock: Clock
}) {
  const { send, body, onDropped, everyMs, clock } = dependencies
  const stopping = new AbortController()
  let isClosed = false
  let sending: Promise<void> = Promise.resolve()
  let cancelTimer = clock.after(everyMs, sendNow)

  async function sendOnce(signal: AbortSignal): Promise<void> {
    const result = await send(await body(), { signal, attempts: 1 })
    if (!result.ok) onDropped(result.reason, 1)
    else if (result.rejected > 0) onDropped('refused', 1)
  }

  function sendNow(): void {
    sending = sendOnce(stopping.signal).finally(() => {
      if (!isClosed) cancelTimer = clock.after(everyMs, sendNow)
    })
  }

  return {
    /** Sends the last values, with one attempt within `graceMs`, and stops. */
    async close(graceMs: number): Promise<void> {
      if (isClosed) return
      isClosed = true
      cancelTimer()
      const cancel = clock.after(graceMs, () => stopping.abort())
      await sending
      if (!stopping.signal.aborted) await sendOnce(stopping.signal)
      cancel()
    },
  }
}

type DropReason = 'queue_full' | 'refused' | 'unreachable'

const maxAtOnce = 512
const maxWaiting = 2_048
const everyMs = 5_000
const attempts = 5

/** Sends one request at a time: a slow or missing collector costs a full queue, and nothing else. */
function createSpanExport(dependencies: {
  send: OtlpSender
  body(spans: readonly EndedSpan[]): string
  onDropped(reason: DropReason, count: number): void
  clock: Clock
}) {
  const { send, body, onDropped, clock } = dependencies
  const stopping = new AbortController()
  let waiting: EndedSpan[] = []
  let sending: Promise<void> | undefined
  let cancelTimer: (() => void) | undefined
  let isClosed = false

  async function sendBatch(signal: AbortSignal, tries: number): Promise<void> {
    const batch = waiting.slice(0, maxAtOnce)
    waiting = waiting.slice(maxAtOnce)
    const result = await send(body(batch), { signal, attempts: tries })
    if (!result.ok) onDropped(result.reason, batch.length)
    else if (result.rejected > 0) onDropped('refused', result.rejected)
  }

  function sendSoon(): void {
    if (isClosed || sending) return
    if (waiting.length >= maxAtOnce) begin()
    else if (waiting.length > 0) cancelTimer ??= clock.after(everyMs, begin)
  }

  function begin(): void {
    cancelTimer?.()
    cancelTimer = undefined
    if (sending || isClosed) return
    sending = sendBatch(stopping.signal, attempts).finally(() => {
      sending = undefined
      sendSoon()
    })
  }

  return {
    /** Returns at once; spans that do not fit are dropped and counted. */
    push(span: EndedSpan) {
      if (isClosed || waiting.length >= maxWaiting) return onDropped('queue_full', 1)
      waiting.push(span)
      sendSoon()
    },
    /** Sends the queue, with one attempt within `graceMs`, and stops. */
    async close(graceMs: number): Promise<void> {
      if (isClosed) return
      isClosed = true
      cancelTimer?.()
      const cancel = clock.after(graceMs, () => stopping.abort())
      await sending
      while (waiting.length > 0 && !stopping.signal.aborted) await sendBatch(stopping.signal, 1)
      if (waiting.length > 0) onDropped('unreachable', waiting.length)
      waiting = []
      cancel()
    },
  }
}

// The JSON encoding of OTLP: camelCase names, enums as numbers, 64-bit integers as decimal text, trace and span ids as
// hex instead of base64.

type Value = { stringValue: string } | { intValue: string } | { doubleValue: number }
type Resource = Readonly<Record<string, string>>

const scope = { name: 'familiar' }
const spanKinds = { internal: 1, server: 2, client: 3 } as const
const failed = 2
const cumulative = 2

/** An ExportTraceServiceRequest. */
function tracesBody(resource: Resource, spans: readonly EndedSpan[]): object {
  return {
    resourceSpans: [{ resource: { attributes: pairs(resource) }, scopeSpans: [{ scope, spans: spans.map(spanJson) }] }],
  }
}

/** An ExportMetricsServiceRequest: everything since `startedAt`. */
function metricsBody(
  resource: Resource,
  readings: readonly MetricReading[],
  { startedAt, now }: { startedAt: number; now: number },
): object {
  const times = { startTimeUnixNano: nanoseconds(startedAt), timeUnixNano: nanoseconds(now) }
  const metrics = readings.map((reading) => metricJson(reading, times))
  return { resourceMetrics: [{ resource: { attributes: pairs(resource) }, scopeMetrics: [{ scope, metrics }] }] }
}

function spanJson(span: EndedSpan): object {
  return {
    traceId: span.traceId,
    spanId: span.spanId,
    ...(span.parentId !== undefined && { parentSpanId: span.parentId }),
    name: span.name,
    kind: spanKinds[span.kind],
    startTimeUnixNano: nanoseconds(span.startedAt),
    endTimeUnixNano: nanoseconds(span.endedAt),
    attributes: span.attributes.map(([key, value]) => ({ key, value: valueJson(value) })),
    status: span.failure === undefined ? {} : { code: failed },
  }
}

function metricJson(reading: MetricReading, times: { startTimeUnixNano: string; timeUnixNano: string }): object {
  const { name, description, unit, kind, bounds = [] } = reading
  const dataPoints = reading.points.map((point) => ({
    attributes: point.labels.map(([key, value]) => ({ key, value: labelJson(key, value) })),
    ...times,
    ...('value' in point
      ? { asDouble: point.value }
      : {
          count: String(point.count),
          sum: point.sum,
          bucketCounts: point.counts.map(String),
          explicitBounds: bounds,
        }),
  }))
  const common = { name, description, unit }
  if (kind === 'histogram') return { ...common, histogram: { dataPoints, aggregationTemporality: cumulative } }
  if (kind === 'gauge') return { ...common, gauge: { dataPoints } }
  return { ...common, sum: { dataPoints, aggregationTemporality: cumulative, isMonotonic: true } }
}

function labelJson(key: string, value: string): Value {
  return key === 'http.response.status_code' ? { intValue: value } : { stringValue: value }
}

function valueJson(value: string | number): Value {
  if (typeof value === 'string') return { stringValue: value }
  return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value }
}

function pairs(resource: Resource): object[] {
  return Object.entries(resource).map(([key, value]) => ({ key, value: { stringValue: value } }))
}

/** A double holds a time since the epoch to the microsecond. */
function nanoseconds(milliseconds: number): string {
  return `${Math.round(milliseconds * 1_000)}000`
}

/** `rejected`: the number of items in an accepted request that the collector did not take. */
type SendResult = { ok: true; rejected: number } | { ok: false; reason: 'refused' | 'unreachable' }

/** Sends one request to the collector: never rejects, and makes at most `attempts` attempts. */
type OtlpSender = (body: string, options: { signal: AbortSignal; attempts: number }) => Promise<SendResult>

/** The only statuses after which OTLP allows a retry. */
const retryable = new Set([429, 502, 503, 504])
const firstPauseMs = 1_000
const maxPauseMs = 30_000

type Attempt = SendResult | { retryAfterMs: number | undefined }

function createOtlpSender(dependencies: {
  url: string
  headers: Readonly<Record<string, string>>
  timeoutMs: number
  fetch: typeof globalThis.fetch
  clock: Clock
  random: () => number
}): OtlpSender {
  const { url, headers, timeoutMs, fetch, clock, random } = dependencies

  async function attempt(body: string, stopping: AbortSignal): Promise<Attempt> {
    const timeout = new AbortController()
    const cancel = clock.after(timeoutMs, () => timeout.abort())
    try {
      const response = await fetch(url, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body,
        // The headers may contain a key: they go only to the configured collector.
        redirect: 'manual',
        signal: AbortSignal.any([stopping, timeout.signal]),
      })
      const text = await response.text()
      if (response.ok) return { ok: true, rejected: rejectedIn(text) }
      if (!retryable.has(response.status)) return { ok: false, reason: 'refused' }
      return { retryAfterMs: readRetryAfter(response.headers.get('retry-after'), clock.now()) }
    } catch {
      return { retryAfterMs: undefined }
    } finally {
      cancel()
    }
  }

  return async (body, { signal, attempts }) => {
    for (let made = 1; ; made += 1) {
      const result = await attempt(body, signal)
      if ('ok' in result) return result
      if (made >= attempts || signal.aborted) return { ok: false, reason: 'unreachable' }
      const growing = Math.min(maxPauseMs, firstPauseMs * 2 ** (made - 1)) * (0.5 + random() / 2)
      const pauseMs = Math.min(maxPauseMs, result.retryAfterMs ?? growing)
      const isStopped = await sleep(clock, pauseMs, signal).then(
        () => false,
        () => true,
      )
      if (isStopped) return { ok: false, reason: 'unreachable' }
    }
  }
}

const count = z.union([z.string().regex(/^\d+$/), z.number()])
const partialSchema = z.object({
  partialSuccess: z.object({ rejectedSpans: count.optional(), rejectedDataPoints: count.optional() }).optional(),
})

function rejectedIn(text: string): number {
  const parsed = parseJson(text, partialSchema)
  const { rejectedSpans = 0, rejectedDataPoints = 0 } = (parsed.ok && parsed.value.partialSuccess) || {}
  return Number(rejectedSpans) + Number(rejectedDataPoints)
}

/** Metrics of this process. Event loop delays are measured from the first reading on. */
function observeProcess(metrics: Pick<Telemetry, 'observe'>): { close(): void } {
  let delays: ReturnType<typeof monitorEventLoopDelay> | undefined
  let lastUse = performance.eventLoopUtilization()

  metrics.observe('process.memory.usage', () => [{ value: process.memoryUsage.rss() }])
  metrics.observe('process.uptime', () => [{ value: process.uptime() }])
  metrics.observe('process.cpu.time', () => {
    const { user, system } = process.cpuUsage()
    return [
      { labels: { 'cpu.mode': 'user' }, value: user / 1e6 },
      { labels: { 'cpu.mode': 'system' }, value: system / 1e6 },
    ]
  })
  metrics.observe('nodejs.eventloop.delay.p50', () => seconds(watched().percentile(50)))
  metrics.observe('nodejs.eventloop.delay.p99', () => seconds(watched().percentile(99)))
  metrics.observe('nodejs.eventloop.delay.max', () => {
    const longest = seconds(watched().max)
    delays?.reset()
    return longest
  })
  metrics.observe('nodejs.eventloop.utilization', () => {
    const use = performance.eventLoopUtilization()
    const { utilization } = performance.eventLoopUtilization(use, lastUse)
    lastUse = use
    return [{ value: utilization }]
  })

  function watched() {
    if (delays) return delays
    delays = monitorEventLoopDelay({ resolution: 20 })
    delays.enable()
    return delays
  }

  return { close: () => void delays?.disable() }
}

/** Nanoseconds to seconds; empty before the first delay was measured. */
function seconds(nanoseconds: number): { value: number }[] {
  return nanoseconds > 0 && nanoseconds < 1e18 ? [{ value: nanoseconds / 1e9 }] : []
}
