import type { MetricPoint, MetricReading } from './metrics.ts'

export const prometheusType = 'text/plain; version=0.0.4; charset=utf-8'
export const openMetricsType = 'application/openmetrics-text; version=1.0.0; charset=utf-8'

type Labels = readonly (readonly [string, string])[]

const units: Readonly<Record<string, string>> = { s: 'seconds', By: 'bytes', '1': 'ratio' }

/** Readings as Prometheus takes them: its own text, or OpenMetrics where that was asked for. */
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
  // In OpenMetrics a counter is called without the ending of its samples.
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
  const pairs = labels.map(([key, text]) => `${prometheusName(key)}="${escapeLabel(text)}"`)
  return `${name}${pairs.length > 0 ? `{${pairs.join(',')}}` : ''} ${value}`
}

function prometheusName(name: string): string {
  return name.replace(/[^A-Za-z0-9_]+/g, '_')
}

function escapeLabel(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
}

function escapeHelp(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')
}

function number(value: number): string {
  if (Number.isFinite(value) || Number.isNaN(value)) return String(value)
  return value > 0 ? '+Inf' : '-Inf'
}

/** With a point, as OpenMetrics writes bounds: `1` and `1.0` would be two series. */
function decimal(value: number): string {
  return Number.isInteger(value) ? `${value}.0` : String(value)
}
