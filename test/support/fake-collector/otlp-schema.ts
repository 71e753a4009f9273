import { z } from 'zod'

// OTLP's protobuf as JSON, and nothing beside it: names in camelCase, 64-bit integers as text, enums as numbers, ids as hex.

const uint64 = z.string().regex(/^\d{1,20}$/)
const traceId = z.string().regex(/^(?!0+$)[0-9a-f]{32}$/)
const spanId = z.string().regex(/^(?!0+$)[0-9a-f]{16}$/)
const value = z.union([
  z.strictObject({ stringValue: z.string() }),
  z.strictObject({ intValue: z.string().regex(/^-?\d{1,19}$/) }),
  z.strictObject({ doubleValue: z.number() }),
])
const attributes = z
  .array(z.strictObject({ key: z.string().min(1), value }))
  .refine((pairs) => new Set(pairs.map(({ key }) => key)).size === pairs.length, 'a key stands twice')
const resource = z.strictObject({ attributes })
const scope = z.strictObject({ name: z.string().min(1), version: z.string().optional() })

const spanSchema = z
  .strictObject({
    traceId,
    spanId,
    parentSpanId: spanId.optional(),
    name: z.string().min(1),
    kind: z.int().min(1).max(5),
    startTimeUnixNano: uint64,
    endTimeUnixNano: uint64,
    attributes,
    status: z.strictObject({ code: z.int().min(0).max(2).optional() }),
  })
  .refine((span) => BigInt(span.endTimeUnixNano) >= BigInt(span.startTimeUnixNano), 'ends before it starts')

const times = { attributes, startTimeUnixNano: uint64, timeUnixNano: uint64 }
const numberPoint = z.strictObject({ ...times, asDouble: z.number() })
const histogramPoint = z
  .strictObject({
    ...times,
    count: uint64,
    sum: z.number(),
    bucketCounts: z.array(uint64),
    explicitBounds: z.array(z.number()),
  })
  .refine(({ bucketCounts, explicitBounds }) => bucketCounts.length === explicitBounds.length + 1, 'buckets and bounds')
  .refine(
    ({ bucketCounts, count }) => bucketCounts.reduce((sum, next) => sum + Number(next), 0) === Number(count),
    'the buckets do not add up',
  )
const named = { name: z.string().min(1), description: z.string(), unit: z.string() }
const cumulative = z.literal(2)
const metricSchema = z.union([
  z.strictObject({ ...named, gauge: z.strictObject({ dataPoints: z.array(numberPoint) }) }),
  z.strictObject({
    ...named,
    sum: z.strictObject({
      dataPoints: z.array(numberPoint),
      aggregationTemporality: cumulative,
      isMonotonic: z.boolean(),
    }),
  }),
  z.strictObject({
    ...named,
    histogram: z.strictObject({ dataPoints: z.array(histogramPoint), aggregationTemporality: cumulative }),
  }),
])

export const tracesSchema = z.strictObject({
  resourceSpans: z.array(
    z.strictObject({ resource, scopeSpans: z.array(z.strictObject({ scope, spans: z.array(spanSchema) })) }),
  ),
})
export const metricsSchema = z.strictObject({
  resourceMetrics: z.array(
    z.strictObject({ resource, scopeMetrics: z.array(z.strictObject({ scope, metrics: z.array(metricSchema) })) }),
  ),
})

export type OtlpSpan = z.infer<typeof spanSchema>
export type OtlpMetric = z.infer<typeof metricSchema>
