import { otherName, toName } from './attributes.ts'
import {
  type CounterName,
  type HistogramName,
  type LabelsOf,
  type MetricDefinition,
  type MetricName,
  metricDefinitions,
  type ObservedName,
} from './metric-definitions.ts'

export type MetricPoint = { labels: readonly [string, string][] } & (
  | { value: number }
  | { counts: readonly number[]; sum: number; count: number }
)

export interface MetricReading extends MetricDefinition {
  name: string
  points: MetricPoint[]
}

interface Observed<Name extends ObservedName> {
  labels?: LabelsOf<Name>
  value: number
}

/** Counts and measures since the start of the process. Nothing here waits or throws, and what it takes of memory is bounded. */
export interface Metrics {
  add<Name extends CounterName>(name: Name, labels: LabelsOf<Name>, amount?: number): void
  record<Name extends HistogramName>(name: Name, labels: LabelsOf<Name>, value: number): void
  /** What is read at each reading, in place of what is counted. One that rejects is left out of that reading. */
  observe<Name extends ObservedName>(
    name: Name,
    read: () => readonly Observed<Name>[] | Promise<readonly Observed<Name>[]>,
  ): void
  /** All that there is to say, in the order of the definitions; metrics that nothing was said of are left out. */
  read(): Promise<MetricReading[]>
}

interface Series {
  labels: [string, string][]
  value: number
  counts: number[]
  count: number
}

/** Sets of labels of one metric; what comes beyond is counted together, as OpenTelemetry has it. */
const mostSeries = 500
const overflow: [string, string][] = [['otel.metric.overflow', 'true']]

export function createMetrics(): Metrics {
  const all = new Map<MetricName, Map<string, Series>>()
  const observers = new Map<
    MetricName,
    () => readonly Observed<ObservedName>[] | Promise<readonly Observed<ObservedName>[]>
  >()

  function seriesOf(name: MetricName, given: Readonly<Record<string, string | undefined>>): Series {
    const { labels, kind, bounds }: MetricDefinition & { bounds?: readonly number[] } = metricDefinitions[name]
    const known = all.get(name) ?? new Map<string, Series>()
    all.set(name, known)
    const pairs = labels.flatMap((key): [string, string][] => {
      const value = given[key]
      return value === undefined ? [] : [[key, toName(value)]]
    })
    const key = pairs.flat().join('\n')
    const found = known.get(key)
    if (found) return found
    const isFull = known.size >= mostSeries
    const overflowing = isFull ? known.get(otherName) : undefined
    if (overflowing) return overflowing
    const counts = kind === 'histogram' ? Array<number>((bounds?.length ?? 0) + 1).fill(0) : []
    const series: Series = { labels: isFull ? overflow : pairs, value: 0, counts, count: 0 }
    known.set(isFull ? otherName : key, series)
    return series
  }

  async function observed(name: MetricName): Promise<MetricPoint[]> {
    try {
      const values = (await observers.get(name)?.()) ?? []
      return values.map(({ labels = {}, value }) => ({
        labels: Object.entries<string | undefined>(labels).map(([key, text]) => [key, toName(text ?? '')]),
        value,
      }))
    } catch {
      return []
    }
  }

  async function pointsOf(name: MetricName): Promise<MetricPoint[]> {
    if (observers.has(name)) return observed(name)
    const isHistogram = metricDefinitions[name].kind === 'histogram'
    return [...(all.get(name)?.values() ?? [])].map(({ labels, value, counts, count }) =>
      isHistogram ? { labels, counts: [...counts], sum: value, count } : { labels, value },
    )
  }

  return {
    add(name, labels, amount = 1) {
      // A counter never goes back, whatever it is told.
      if (amount > 0) seriesOf(name, labels).value += amount
    },
    record(name, labels, value) {
      if (!Number.isFinite(value)) return
      const series = seriesOf(name, labels)
      const bounds: readonly number[] = metricDefinitions[name].bounds
      const place = bounds.findIndex((bound) => value <= bound)
      const bucket = place === -1 ? bounds.length : place
      series.counts[bucket] = (series.counts[bucket] ?? 0) + 1
      series.count += 1
      series.value += value
    },
    observe: (name, read) => void observers.set(name, read),
    async read() {
      const names = Object.keys(metricDefinitions) as MetricName[]
      const readings = await Promise.all(
        names.map(async (name) => ({ name, ...metricDefinitions[name], points: await pointsOf(name) })),
      )
      return readings.filter(({ points }) => points.length > 0)
    },
  }
}
