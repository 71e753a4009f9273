import type { EndedSpan } from '../create-telemetry.ts'
import type { MetricPoint, MetricReading } from '../metrics.ts'

// The JSON of protobuf as OTLP has it: names in camelCase, enums as numbers, 64-bit integers as decimal text, trace and span
// ids as hex and not as base64.

type Value = { stringValue: string } | { intValue: string } | { doubleValue: number }
export type Resource = Readonly<Record<string, string>>

const scope = { name: 'familiar' }
const spanKinds = { internal: 1, server: 2, client: 3 } as const
const failed = 2
const cumulative = 2

/** An ExportTraceServiceRequest. */
export function tracesBody(resource: Resource, spans: readonly EndedSpan[]): object {
  return {
    resourceSpans: [{ resource: { attributes: pairs(resource) }, scopeSpans: [{ scope, spans: spans.map(spanJson) }] }],
  }
}

/** An ExportMetricsServiceRequest: everything since `startedAt`. */
export function metricsBody(
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
    ...('value' in point ? { asDouble: point.value } : distributionJson(point, bounds)),
  }))
  const common = { name, description, unit }
  if (kind === 'histogram') return { ...common, histogram: { dataPoints, aggregationTemporality: cumulative } }
  if (kind === 'gauge') return { ...common, gauge: { dataPoints } }
  return { ...common, sum: { dataPoints, aggregationTemporality: cumulative, isMonotonic: true } }
}

function distributionJson(
  { count, sum, counts }: Extract<MetricPoint, { count: number }>,
  bounds: readonly number[],
): object {
  return { count: String(count), sum, bucketCounts: counts.map(String), explicitBounds: bounds }
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

/** Microseconds are as fine as a time since the epoch is in a double. */
function nanoseconds(milliseconds: number): string {
  return `${Math.round(milliseconds * 1_000)}000`
}
