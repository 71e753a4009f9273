import descriptions from './metric-descriptions.json' with { type: 'json' }

export type MetricPoint = { labels: readonly [string, string][] } & (
  | { value: number }
  | { counts: readonly number[]; sum: number; count: number }
)

export interface MetricReading extends MetricDefinition {
  name: string
  description: string
  points: MetricPoint[]
}

interface Observed<Name extends ObservedName> {
  labels?: LabelsOf<Name>
  value: number
}

type Observer<Name extends ObservedName> = () => readonly Observed<Name>[] | Promise<readonly Observed<Name>[]>

interface Series {
  labels: [string, string][]
  value: number
  counts: number[]
  count: number
}

/** Label sets per metric; further ones are counted together, as in OpenTelemetry. */
const maxSeries = 500
const overflow: [string, string][] = [['otel.metric.overflow', 'true']]

/**
 * Counters and measurements since the start of the process. Nothing here waits or throws, and its memory is limited.
 */
export function createMetrics() {
  const all = new Map<MetricName, Map<string, Series>>()
  const observers = new Map<MetricName, Observer<ObservedName>>()

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
    const isFull = known.size >= maxSeries
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
    add<Name extends CounterName>(name: Name, labels: LabelsOf<Name>, amount = 1): void {
      // A counter never decreases.
      if (amount > 0) seriesOf(name, labels).value += amount
    },
    record<Name extends HistogramName>(name: Name, labels: LabelsOf<Name>, value: number): void {
      if (!Number.isFinite(value)) return
      const series = seriesOf(name, labels)
      const bounds: readonly number[] = metricDefinitions[name].bounds
      const place = bounds.findIndex((bound) => value <= bound)
      const bucket = place === -1 ? bounds.length : place
      series.counts[bucket] = (series.counts[bucket] ?? 0) + 1
      series.count += 1
      series.value += value
    },
    /** Adds a value that is read at each reading instead of counted. If it rejects, that reading omits it. */
    observe<Name extends ObservedName>(name: Name, read: Observer<Name>): void {
      observers.set(name, read)
    },
    /** All metrics in the order of the definitions; those without data are omitted. */
    async read(): Promise<MetricReading[]> {
      const names = Object.keys(metricDefinitions) as MetricName[]
      const readings = await Promise.all(
        names.map(async (name) => ({
          name,
          ...metricDefinitions[name],
          description: descriptions[name],
          points: await pointsOf(name),
        })),
      )
      return readings.filter(({ points }) => points.length > 0)
    },
  }
}

/**
 * All attributes that a span or a metric may have (SCALE-7). No key can contain text of messages, questions or answers.
 * The names are OpenTelemetry's if it has one.
 */
const textKeys = [
  'gen_ai.operation.name',
  'gen_ai.provider.name',
  'gen_ai.request.model',
  'gen_ai.token.type',
  'gen_ai.agent.name',
  'gen_ai.conversation.id',
  'gen_ai.tool.name',
  'error.type',
  'http.request.method',
  'http.route',
  'url.scheme',
  'db.system.name',
  'db.operation.name',
  'cpu.mode',
  'familiar.turn.id',
  'familiar.turn.outcome',
  'familiar.request.id',
  'familiar.outbox.state',
  'familiar.telemetry.signal',
  'familiar.telemetry.reason',
] as const

const numberKeys = [
  'gen_ai.request.max_tokens',
  'gen_ai.usage.input_tokens',
  'gen_ai.usage.output_tokens',
  'gen_ai.usage.cache_read.input_tokens',
  'gen_ai.usage.cache_creation.input_tokens',
  'http.response.status_code',
  'familiar.turn.rounds',
  'familiar.turn.tool_calls',
  'familiar.recall.memories',
] as const

type TextKey = (typeof textKeys)[number]
type NumberKey = (typeof numberKeys)[number]
export type Attributes = { [Key in TextKey]?: string } & { [Key in NumberKey]?: number }

const isText = new Set<string>(textKeys)
const isNumber = new Set<string>(numberKeys)

/** Names, ids and route paths: no spaces, so no sentence, and too short to hold one. */
const nameShape = /^[\w/][\w.:/@+-]{0,99}$/

/** Replaces values that do not have the shape of a name. */
export const otherName = '_OTHER'

export function toName(text: string): string {
  return nameShape.test(text) ? text : otherName
}

/** Keeps only listed attributes in the required shape; types alone would not ensure that. */
export function cleanAttributes(attributes: Attributes): [string, string | number][] {
  return Object.entries(attributes).flatMap(([key, value]): [string, string | number][] => {
    if (isText.has(key) && typeof value === 'string') return [[key, toName(value)]]
    if (isNumber.has(key) && typeof value === 'number' && Number.isFinite(value)) return [[key, value]]
    return []
  })
}

/** The class of an error: its code or the name of its type. Never its message, which may quote anything. */
export function errorType(cause: unknown): string {
  if (typeof cause === 'object' && cause !== null && 'code' in cause && typeof cause.code === 'string')
    return toName(cause.code)
  return cause instanceof Error ? toName(cause.name) : otherName
}

interface MetricDefinition {
  /** `gauge`: the current value; a `counter` only grows. */
  kind: 'counter' | 'gauge' | 'histogram'
  /** In UCUM notation: `s`, `By`, `1`; in braces if it is only a description. */
  unit: string
  labels: readonly (TextKey | 'http.response.status_code')[]
  /** Of a histogram. */
  bounds?: readonly number[]
}

// As the conventions for generative AI recommend.
const callSeconds = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92]
const agentSeconds = [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2, 102.4, 204.8, 409.6]
const firstChunkSeconds = [0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]
const tokenCounts = [1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864]
const requestSeconds = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]
const shortSeconds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 10]

const modelLabels = ['gen_ai.operation.name', 'gen_ai.provider.name', 'gen_ai.request.model'] as const

type Label = MetricDefinition['labels'][number]

function counter<const Labels extends readonly Label[]>(unit: string, ...labels: Labels) {
  return { kind: 'counter', unit, labels } as const
}

function gauge<const Labels extends readonly Label[]>(unit: string, ...labels: Labels) {
  return { kind: 'gauge', unit, labels } as const
}

function histogram<const Labels extends readonly Label[]>(bounds: readonly number[], unit: string, ...labels: Labels) {
  return { kind: 'histogram', unit, labels, bounds } as const
}

/** All metrics. Their labels are few and have few values: no ids and no user text. */
const metricDefinitions = {
  'gen_ai.client.operation.duration': histogram(callSeconds, 's', ...modelLabels, 'error.type'),
  'gen_ai.client.operation.time_to_first_chunk': histogram(firstChunkSeconds, 's', ...modelLabels),
  'gen_ai.client.token.usage': histogram(tokenCounts, '{token}', ...modelLabels, 'gen_ai.token.type'),
  'gen_ai.invoke_agent.duration': histogram(agentSeconds, 's', 'gen_ai.agent.name', 'error.type'),
  'gen_ai.execute_tool.duration': histogram(callSeconds, 's', 'gen_ai.tool.name', 'error.type'),
  'familiar.turns': counter('{turn}', 'gen_ai.agent.name', 'familiar.turn.outcome'),
  'familiar.turns.running': gauge('{turn}'),
  'familiar.messages.waiting': gauge('{message}'),
  'familiar.cost.usd': counter('{USD}', 'gen_ai.provider.name', 'gen_ai.request.model'),
  'familiar.recall.duration': histogram(shortSeconds, 's', 'error.type'),
  'familiar.outbox.items': gauge('{item}', 'familiar.outbox.state'),
  'db.client.operation.duration': histogram(shortSeconds, 's', 'db.system.name', 'db.operation.name', 'error.type'),
  'familiar.database.retries': counter('{retry}', 'db.system.name'),
  'http.server.request.duration': histogram(
    requestSeconds,
    's',
    'http.request.method',
    'http.route',
    'http.response.status_code',
    'url.scheme',
    'error.type',
  ),
  'process.memory.usage': gauge('By'),
  'process.cpu.time': counter('s', 'cpu.mode'),
  'process.uptime': gauge('s'),
  'nodejs.eventloop.delay.p50': gauge('s'),
  'nodejs.eventloop.delay.p99': gauge('s'),
  'nodejs.eventloop.delay.max': gauge('s'),
  'nodejs.eventloop.utilization': gauge('1'),
  'familiar.telemetry.dropped': counter('{item}', 'familiar.telemetry.signal', 'familiar.telemetry.reason'),
} as const satisfies Record<string, MetricDefinition>

type Definitions = typeof metricDefinitions
type MetricName = keyof Definitions
type NameOfKind<Kind> = { [Name in MetricName]: Definitions[Name]['kind'] extends Kind ? Name : never }[MetricName]
type CounterName = NameOfKind<'counter'>
export type HistogramName = NameOfKind<'histogram'>
type ObservedName = NameOfKind<'counter' | 'gauge'>
type LabelOf<Name extends MetricName> = Definitions[Name]['labels'][number]
export type LabelsOf<Name extends MetricName> = { [Key in LabelOf<Name>]?: string }
