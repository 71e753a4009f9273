import type { Clock } from '../../base/clock.ts'
import type { WorkContext } from '../../base/work-context.ts'
import { createTelemetry } from './create-telemetry.ts'
import { startMetricExport } from './otlp/export-metrics.ts'
import { createSpanExport, type DropReason } from './otlp/export-spans.ts'
import { metricsBody, type Resource, tracesBody } from './otlp/otlp-json.ts'
import { createOtlpSender } from './otlp/otlp-sender.ts'
import { observeProcess } from './process-metrics.ts'
import type { Telemetry } from './telemetry.ts'

export interface OpenTelemetry {
  telemetry: Telemetry
  /** Sends what is left, as far as that is possible within `graceMs`. */
  close(graceMs: number): Promise<void>
}

/** Measures, and sends what it measured where an address is given. Without one, nothing leaves and no timer runs. */
export function openTelemetry(dependencies: {
  settings: {
    /** Whole addresses; null where nobody takes them. */
    traces: string | null
    metrics: string | null
    headers: Readonly<Record<string, string>>
    timeoutMs: number
    metricsIntervalMs: number
  }
  resource: Resource
  work: WorkContext
  /** The way out to the addresses. */
  fetch: typeof globalThis.fetch
  /** Takes secrets out of what is sent, should a name hold one. */
  redact: (text: string) => string
  clock: Clock
  random?: () => number
  now?: () => number
}): OpenTelemetry {
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
    async close(graceMs) {
      await Promise.all([spans?.close(graceMs), metrics?.close(graceMs)])
      observed.close()
    },
  }
}
