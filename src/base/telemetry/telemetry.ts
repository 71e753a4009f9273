import { pooledRandom } from '../ids.ts'
import { createWorkContext, type SpanContext, type WorkContext } from '../work.ts'
import {
  type Attributes,
  cleanAttributes,
  createMetrics,
  errorType,
  type HistogramName,
  type LabelsOf,
  type MetricPoint,
  type MetricReading,
  toName,
} from './metrics.ts'

/** The start of a span. Its name is the operation and its object, if any: `chat small-model`. */
interface SpanStart {
  operation: string
  target?: string
  kind: 'internal' | 'server' | 'client'
  attributes?: Attributes
}

/** A timed operation. The starter calls `end` once; later changes are ignored. */
export interface Span {
  set(attributes: Attributes): void
  /** Marks it as failed, with an error type (see `errorType`). */
  fail(type: string): void
  /** Returns the duration in seconds. */
  end(): number
}

export type Telemetry = ReturnType<typeof createTelemetry>

/** Counts without exporting. */
export function createSilentTelemetry(): Telemetry {
  return createTelemetry({ work: createWorkContext() })
}

/** An ended span, for export. Times are milliseconds since the epoch, with fractions. */
export interface EndedSpan {
  traceId: string
  spanId: string
  parentId: string | undefined
  name: string
  kind: SpanStart['kind']
  startedAt: number
  endedAt: number
  attributes: [string, string | number][]
  failure: string | undefined
}

/**
 * Durations, amounts and counts, never content (SCALE-7). Nothing here waits, throws or slows the measured code.
 * Metrics are always counted; without `onSpan`, which must return at once, no spans are created.
 */
export function createTelemetry(dependencies: {
  work: WorkContext
  onSpan?: ((span: EndedSpan) => void) | undefined
  /** Finer than a clock: write units take less than a millisecond. */
  now?: () => number
  random?: (size: number) => Uint8Array
}) {
  const { work, onSpan, random = pooledRandom() } = dependencies
  const { now = () => performance.timeOrigin + performance.now() } = dependencies

  const newId = (bytes: number) => Buffer.from(random(bytes)).toString('hex')

  function begin(start: SpanStart): { span: Span; context: SpanContext | undefined } {
    const parent = work.current().span
    const startedAt = now()
    const seconds = () => Math.max(0, now() - startedAt) / 1_000
    // The caller decided not to sample this trace.
    const isWanted = onSpan !== undefined && parent?.isSampled !== false
    if (!isWanted) return { span: { set() {}, fail() {}, end: seconds }, context: parent }
    const traceId = parent?.traceId ?? newId(16)
    const spanId = newId(8)
    const attributes = new Map(cleanAttributes(start.attributes ?? {}))
    let failure: string | undefined
    let isOver = false
    const span: Span = {
      set(more) {
        for (const [key, value] of cleanAttributes(more)) attributes.set(key, value)
      },
      fail(type) {
        failure = toName(type)
      },
      end() {
        const took = seconds()
        if (isOver) return took
        isOver = true
        if (failure !== undefined) attributes.set('error.type', failure)
        onSpan({
          traceId,
          spanId,
          parentId: parent?.spanId,
          name: nameOf(start),
          kind: start.kind,
          startedAt,
          endedAt: startedAt + took * 1_000,
          attributes: [...attributes],
          failure,
        })
        return took
      },
    }
    return { span, context: { traceId, spanId, isSampled: true } }
  }

  return {
    ...createMetrics(),
    work,
    /** Starts a child of the current span. */
    startSpan: (start: SpanStart): Span => begin(start).span,
    /** Runs the task in a span: spans started inside become its children. Errors of the task pass through. */
    async inSpan<T>(start: SpanStart, task: (span: Span) => Promise<T>): Promise<T> {
      const { span, context } = begin(start)
      try {
        return await work.within({ span: context }, () => task(span))
      } catch (cause) {
        span.fail(errorType(cause))
        throw cause
      } finally {
        span.end()
      }
    },
  }
}

/** How a timed task failed; undefined if it succeeded, null if it is not counted because it continues elsewhere. */
type Failure = string | undefined | null

/** Runs the task in a span and records its duration under the metric, with `error.type` where it failed. */
export function timed<Result, Name extends HistogramName>(
  telemetry: Telemetry,
  measured: SpanStart & {
    metric: Name
    labels: LabelsOf<Name>
    failureOf?(result: Result): Failure
    errorOf?(cause: unknown): Failure
  },
  task: (span: Span) => Promise<Result>,
): Promise<Result> {
  const { metric, labels, failureOf = () => undefined, errorOf = errorType, ...start } = measured
  return telemetry.inSpan(start, async (span) => {
    const startedAt = performance.now()
    const record = (failure: Failure) => {
      if (failure === null) return
      if (failure !== undefined) span.fail(failure)
      const all = failure === undefined ? labels : { ...labels, 'error.type': failure }
      telemetry.record(metric, all, (performance.now() - startedAt) / 1_000)
    }
    try {
      const result = await task(span)
      record(failureOf(result))
      return result
    } catch (cause) {
      record(errorOf(cause))
      throw cause
    }
  })
}

function nameOf({ operation, target }: SpanStart): string {
  return target === undefined ? toName(operation) : `${toName(operation)} ${toName(target)}`
}

export const prometheusType = 'text/plain; version=0.0.4; charset=utf-8'
export const openMetricsType = 'application/openmetrics-text; version=1.0.0; charset=utf-8'

type Labels = readonly (readonly [string, string])[]

const units: Readonly<Record<string, string>> = { s: 'seconds', By: 'bytes', '1': 'ratio' }

/** Readings in Prometheus text format, or OpenMetrics if requested. */
export function prometheusText(readings: readonly MetricReading[], { isOpenMetrics = false } = {}): string {
  const lines = readings.flatMap((reading) => familyLines(reading, isOpenMetrics))
  if (isOpenMetrics) lines.push('# EOF')
  return lines.map((line) => `${line}\n`).join('')
}

function familyLines(reading: MetricReading, isOpenMetrics: boolean): string[] {
  const unit = units[reading.unit]
  const family = prometheusName(unit === undefined ? reading.name : `${reading.name}_${unit}`)
  const isCounter = reading.kind === 'counter'
  const sample = isCounter ? `${family}_total` : family
  // In OpenMetrics the name of a counter lacks the suffix of its samples.
  const title = isOpenMetrics ? family : sample
  return [
    `# HELP ${title} ${escapeHelp(reading.description)}`,
    `# TYPE ${title} ${reading.kind}`,
    ...(isOpenMetrics && unit !== undefined ? [`# UNIT ${title} ${unit}`] : []),
    ...reading.points.flatMap((point) =>
      'value' in point
        ? [sampleLine(sample, point.labels, number(point.value))]
        : histogramLines(family, point, reading.bounds ?? []),
    ),
  ]
}

function histogramLines(
  family: string,
  { labels, counts, sum, count }: Extract<MetricPoint, { count: number }>,
  bounds: readonly number[],
): string[] {
  let below = 0
  const buckets = bounds.map((bound, index) => {
    below += counts[index] ?? 0
    return sampleLine(`${family}_bucket`, [...labels, ['le', decimal(bound)]], number(below))
  })
  return [
    ...buckets,
    sampleLine(`${family}_bucket`, [...labels, ['le', '+Inf']], number(count)),
    sampleLine(`${family}_sum`, labels, number(sum)),
    sampleLine(`${family}_count`, labels, number(count)),
  ]
}

function sampleLine(name: string, labels: Labels, value: string): string {
  const pairs = labels.map(([key, text]) => `${prometheusName(key)}="${escapeHelp(text).replaceAll('"', '\\"')}"`)
  return `${name}${pairs.length > 0 ? `{${pairs.join(',')}}` : ''} ${value}`
}

function prometheusName(name: string): string {
  return name.replace(/[^A-Za-z0-9_]+/g, '_')
}

function escapeHelp(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')
}

function number(value: number): string {
  if (Number.isFinite(value) || Number.isNaN(value)) return String(value)
  return value > 0 ? '+Inf' : '-Inf'
}

/** With a decimal point, as OpenMetrics writes bounds: `1` and `1.0` would be two series. */
function decimal(value: number): string {
  return Number.isInteger(value) ? `${value}.0` : String(value)
}

const shape = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/
const zeros = /^0+$/

/** Parses the W3C header `traceparent`; undefined if it is invalid, which counts as none. */
export function parseTraceparent(header: string | undefined): SpanContext | undefined {
  const [, version, traceId = '', spanId = '', flags = '', rest] = shape.exec(header ?? '') ?? []
  if (version === undefined || version === 'ff' || zeros.test(traceId) || zeros.test(spanId)) return undefined
  // Later versions may append data after a dash; version 00 may not.
  if (version === '00' && rest !== undefined) return undefined
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 }
}
