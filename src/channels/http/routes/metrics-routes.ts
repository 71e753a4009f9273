import type { Metrics } from '../../../monitor/telemetry/metrics.ts'
import { openMetricsType, prometheusText, prometheusType } from '../../../monitor/telemetry/prometheus-text.ts'
import { commonHeaders } from '../json-reply.ts'
import { defineRoute, type Route } from '../route.ts'

/** Figures of the whole process, so they are the owner's; a token of theirs that may only read is enough. */
export function createMetricsRoutes(metrics: Pick<Metrics, 'read'>): Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/metrics',
      summary: 'What Prometheus collects: how much, how long, how often.',
      auth: 'token',
      scope: 'read',
      isOwners: true,
      reply: { status: 200, mediaTypes: [prometheusType, openMetricsType] },
      async handle({ context }) {
        const isOpenMetrics = /\bapplication\/openmetrics-text\b/.test(context.req.header('accept') ?? '')
        const headers = { ...commonHeaders, 'content-type': isOpenMetrics ? openMetricsType : prometheusType }
        return new Response(prometheusText(await metrics.read(), { isOpenMetrics }), { headers })
      },
    }),
  ]
}
