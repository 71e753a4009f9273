import type { ConfigProblem } from './config-problem.ts'
import type { Environment } from './environment.ts'
import { baseUrl } from './provider-schema.ts'
import type { Settings } from './settings-schema.ts'

export interface TelemetrySettings {
  /** Where each goes; null where it goes nowhere. */
  traces: string | null
  metrics: string | null
  /** May hold keys: hand their values to the redactor. */
  headers: Record<string, string>
  /** What the collector is told of this daemon. */
  resource: Record<string, string>
  timeoutMs: number
  metricsIntervalMs: number
}

/** `[telemetry]` under the variables that OpenTelemetry has for it everywhere. */
export function readTelemetry(source: {
  settings: Settings['telemetry']
  environment: Environment
  problems: ConfigProblem[]
  warnings: string[]
}): TelemetrySettings {
  const { settings, environment, problems, warnings } = source
  const value = (name: string) => environment.get(name)?.value

  function address(name: string): string | undefined {
    const variable = environment.get(name)
    if (!variable || baseUrl.safeParse(variable.value).success) return variable?.value
    const { value: _, ...place } = variable
    problems.push({ ...place, message: 'must be an http or https address without a user name or password' })
    return undefined
  }

  function milliseconds(name: string, usual: number): number {
    const text = value(name)
    if (text === undefined) return usual
    if (/^[1-9]\d{0,8}$/.test(text)) return Number(text)
    warnings.push(`${name} is not a number of milliseconds and is left out`)
    return usual
  }

  function pairs(name: string): Record<string, string> {
    const read = readPairs(value(name) ?? '')
    if (!read) warnings.push(`${name} is not a list of name=value and is left out`)
    return read ?? {}
  }

  const base = address('OTEL_EXPORTER_OTLP_ENDPOINT') ?? settings.endpoint
  const isOff = value('OTEL_SDK_DISABLED')?.toLowerCase() === 'true'
  const protocol = value('OTEL_EXPORTER_OTLP_PROTOCOL')

  function target(signal: 'traces' | 'metrics'): string | null {
    const name = signal.toUpperCase()
    // Asked for in any case, so that what is wrong with it is told.
    const own = address(`OTEL_EXPORTER_OTLP_${name}_ENDPOINT`)
    if (isOff || !settings[signal] || value(`OTEL_${name}_EXPORTER`) === 'none') return null
    return own ?? (base === undefined ? null : `${base.replace(/\/+$/, '')}/v1/${signal}`)
  }

  const telemetry = {
    traces: target('traces'),
    metrics: target('metrics'),
    headers: pairs('OTEL_EXPORTER_OTLP_HEADERS'),
    resource: {
      ...pairs('OTEL_RESOURCE_ATTRIBUTES'),
      'service.name': value('OTEL_SERVICE_NAME') ?? settings.service_name,
    },
    timeoutMs: milliseconds('OTEL_EXPORTER_OTLP_TIMEOUT', 10_000),
    metricsIntervalMs: milliseconds('OTEL_METRIC_EXPORT_INTERVAL', settings.metrics_interval_seconds * 1_000),
  }
  const isSent = telemetry.traces !== null || telemetry.metrics !== null
  if (isSent && protocol !== undefined && protocol !== 'http/json')
    warnings.push(`OTEL_EXPORTER_OTLP_PROTOCOL is ${protocol}; traces and metrics are sent as http/json all the same`)
  return telemetry
}

/** `name=value,name=value` with escapes as in an address; undefined where it is not that. */
function readPairs(text: string): Record<string, string> | undefined {
  const parts = text.split(',').filter((part) => part.trim() !== '')
  const read = parts.map((part) => /^\s*([\w.-]+)\s*=\s*(\S.*?)\s*$/.exec(part))
  if (read.some((match) => match === null)) return undefined
  try {
    return Object.fromEntries(read.map((match) => [match?.[1] ?? '', decodeURIComponent(match?.[2] ?? '')]))
  } catch {
    return undefined
  }
}
