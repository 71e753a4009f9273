import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { formatProblems } from './config.ts'
import { loadConfig } from './load-config.ts'

let home: string
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'familiar-config-'))
})
afterEach(() => rmSync(home, { recursive: true, force: true }))

function load(toml: string, env: Record<string, string> = {}) {
  writeFileSync(join(home, 'familiar.toml'), toml, { mode: 0o600 })
  const loaded = loadConfig({ home, env })
  if (!loaded.ok) return { problems: formatProblems(loaded.problems, home) }
  return { ...loaded.config.telemetry, warnings: loaded.warnings }
}

const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318/' }

describe('[telemetry]', () => {
  it('SCALE-7 sends nothing without an address', () => {
    expect(load('')).toMatchObject({ traces: null, metrics: null, headers: {}, warnings: [] })
    expect(load('', { ...endpoint, OTEL_SDK_DISABLED: 'true' })).toMatchObject({ traces: null, metrics: null })
    expect(load('', { ...endpoint, OTEL_TRACES_EXPORTER: 'none' })).toMatchObject({
      traces: null,
      metrics: 'http://127.0.0.1:4318/v1/metrics',
    })
    expect(load('[telemetry]\nendpoint = "http://a.example"\nmetrics = false')).toMatchObject({
      traces: 'http://a.example/v1/traces',
      metrics: null,
    })
  })

  it("CONF-1 reads OpenTelemetry's variables, which override the file", () => {
    const env = {
      ...endpoint,
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://traces.example/as/it/is',
      OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20a-key, x-team = blue',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test,service.name=other',
      OTEL_SERVICE_NAME: 'mine',
      OTEL_EXPORTER_OTLP_TIMEOUT: '2500',
      OTEL_METRIC_EXPORT_INTERVAL: '1000',
    }
    expect(load('[telemetry]\nendpoint = "http://a.example"\nservice_name = "theirs"', env)).toEqual({
      traces: 'https://traces.example/as/it/is',
      metrics: 'http://127.0.0.1:4318/v1/metrics',
      headers: { authorization: 'Bearer a-key', 'x-team': 'blue' },
      resource: { 'deployment.environment.name': 'test', 'service.name': 'mine' },
      timeoutMs: 2_500,
      metricsIntervalMs: 1_000,
      warnings: [],
    })
  })

  it('CONF-1 reports what is wrong with them', () => {
    expect(load('[telemetry]\nendpoint = "a.example"\nservice_name = "two words"')).toMatchObject({
      problems: [
        expect.stringContaining('telemetry.endpoint: must be an http or https address'),
        expect.stringContaining('telemetry.service_name: must be a name'),
      ],
    })
    expect(load('', { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://me:word@a.example' })).toMatchObject({
      problems: [expect.stringMatching(/OTEL_EXPORTER_OTLP_ENDPOINT: must be .* without a user name/)],
    })
    const odd = {
      OTEL_EXPORTER_OTLP_HEADERS: 'no pairs',
      OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
      OTEL_METRIC_EXPORT_INTERVAL: 'often',
    }
    const loaded = load('', { ...endpoint, ...odd })
    expect(loaded).toMatchObject({
      headers: {},
      metricsIntervalMs: 60_000,
      warnings: [
        expect.stringContaining('OTEL_EXPORTER_OTLP_HEADERS'),
        expect.stringContaining('OTEL_METRIC_EXPORT_INTERVAL'),
        expect.stringContaining('http/json'),
      ],
    })
  })
})
