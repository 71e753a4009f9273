import type { ServerResponse } from 'node:http'
import { type LocalRequest, openLocalSite } from '../local-site.ts'
import { metricsSchema, type OtlpMetric, type OtlpSpan, tracesSchema } from './otlp-schema.ts'

/** How the collector handles a request: accepts it, answers with this, or stays silent. */
export type CollectorAnswer = 'take' | 'hang' | { status: number; headers?: Record<string, string>; body?: string }

export interface FakeCollector {
  origin: string
  port: number
  /** Everything that was sent, as it came. */
  requests: readonly LocalRequest[]
  /** Accepted requests. */
  spans: OtlpSpan[]
  /** The newest reading of each metric. */
  metrics: Map<string, OtlpMetric>
  resource: Record<string, string>
  /** Requests that are not OTLP. */
  problems: string[]
  close(): Promise<void>
}

/** A collector that takes OTLP over HTTP as JSON on a real socket, and nothing that is not exactly that. */
export async function startFakeCollector(
  answer: (request: LocalRequest, number: number) => CollectorAnswer = () => 'take',
): Promise<FakeCollector> {
  const spans: OtlpSpan[] = []
  const metrics = new Map<string, OtlpMetric>()
  const resource: Record<string, string> = {}
  const problems: string[] = []

  function take(request: LocalRequest): void {
    if (request.method !== 'POST') problems.push(`${request.method} ${request.url}`)
    if (request.headers['content-type'] !== 'application/json') problems.push(`${request.headers['content-type']}`)
    const body = JSON.parse(request.body) as unknown
    if (request.url === '/v1/traces') {
      const parsed = tracesSchema.safeParse(body)
      if (!parsed.success) return void problems.push(parsed.error.message)
      for (const { resource: from, scopeSpans } of parsed.data.resourceSpans) {
        keepResource(from.attributes)
        spans.push(...scopeSpans.flatMap((scope) => scope.spans))
      }
    } else if (request.url === '/v1/metrics') {
      const parsed = metricsSchema.safeParse(body)
      if (!parsed.success) return void problems.push(parsed.error.message)
      for (const { resource: from, scopeMetrics } of parsed.data.resourceMetrics) {
        keepResource(from.attributes)
        for (const metric of scopeMetrics.flatMap((scope) => scope.metrics)) metrics.set(metric.name, metric)
      }
    } else problems.push(`nothing is at ${request.url}`)
  }

  function keepResource(attributes: OtlpSpan['attributes']): void {
    for (const { key, value } of attributes) resource[key] = 'stringValue' in value ? value.stringValue : ''
  }

  let number = 0
  const site = await openLocalSite((request, response: ServerResponse) => {
    number += 1
    const given = answer(request, number)
    if (given === 'hang') return
    if (given === 'take') take(request)
    const { status, headers, body = '{}' } = given === 'take' ? { status: 200 } : given
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body)
  })
  const { origin, port, requests, close } = site
  return { origin, port, requests, spans, metrics, resource, problems, close }
}

/** The attributes of a span or a point, by name. */
export function attributesOf({ attributes }: Pick<OtlpSpan, 'attributes'>): Record<string, string | number> {
  return Object.fromEntries(
    attributes.map(({ key, value }) => {
      if ('stringValue' in value) return [key, value.stringValue]
      return [key, 'intValue' in value ? Number(value.intValue) : value.doubleValue]
    }),
  )
}
