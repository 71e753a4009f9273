import type { TextKey } from './attributes.ts'

export interface MetricDefinition {
  /** `gauge`: what is so at this moment; a `counter` only grows. */
  kind: 'counter' | 'gauge' | 'histogram'
  /** As UCUM writes it: `s`, `By`, `1`; in braces where it is only a word for the reader. */
  unit: string
  description: string
  labels: readonly (TextKey | 'http.response.status_code')[]
  /** Of a histogram. */
  bounds?: readonly number[]
}

// As the conventions for generative AI ask for them.
const callSeconds = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92]
const agentSeconds = [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2, 102.4, 204.8, 409.6]
const firstChunkSeconds = [0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]
const tokenCounts = [1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864]
const requestSeconds = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]
const shortSeconds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 10]

const modelLabels = ['gen_ai.operation.name', 'gen_ai.provider.name', 'gen_ai.request.model'] as const

/** Everything that is measured. The labels of each are few and have few values: no ids, nobody's words. */
export const metricDefinitions = {
  'gen_ai.client.operation.duration': {
    kind: 'histogram',
    unit: 's',
    description: 'How long calls to models took.',
    labels: [...modelLabels, 'error.type'],
    bounds: callSeconds,
  },
  'gen_ai.client.operation.time_to_first_chunk': {
    kind: 'histogram',
    unit: 's',
    description: 'How long calls to models took until something came.',
    labels: modelLabels,
    bounds: firstChunkSeconds,
  },
  'gen_ai.client.token.usage': {
    kind: 'histogram',
    unit: '{token}',
    description: 'Tokens of calls to models.',
    labels: [...modelLabels, 'gen_ai.token.type'],
    bounds: tokenCounts,
  },
  'gen_ai.invoke_agent.duration': {
    kind: 'histogram',
    unit: 's',
    description: 'How long turns ran here.',
    labels: ['gen_ai.agent.name', 'error.type'],
    bounds: agentSeconds,
  },
  'gen_ai.execute_tool.duration': {
    kind: 'histogram',
    unit: 's',
    description: 'How long calls of tools took.',
    labels: ['gen_ai.tool.name', 'error.type'],
    bounds: callSeconds,
  },
  'familiar.turns': {
    kind: 'counter',
    unit: '{turn}',
    description: 'Turns that ended.',
    labels: ['gen_ai.agent.name', 'familiar.turn.outcome'],
  },
  'familiar.turns.running': {
    kind: 'gauge',
    unit: '{turn}',
    description: 'Turns of conversations that run in this process.',
    labels: [],
  },
  'familiar.messages.waiting': {
    kind: 'gauge',
    unit: '{message}',
    description: 'Messages that wait for their turn.',
    labels: [],
  },
  'familiar.cost.usd': {
    kind: 'counter',
    unit: '{USD}',
    description: 'What calls to models cost, where their price is known.',
    labels: ['gen_ai.provider.name', 'gen_ai.request.model'],
  },
  'familiar.recall.duration': {
    kind: 'histogram',
    unit: 's',
    description: 'How long it took to recall what a turn begins with.',
    labels: ['error.type'],
    bounds: shortSeconds,
  },
  'familiar.outbox.items': {
    kind: 'gauge',
    unit: '{item}',
    description: 'What is to go out and has not arrived for certain, in the whole database.',
    labels: ['familiar.outbox.state'],
  },
  'db.client.operation.duration': {
    kind: 'histogram',
    unit: 's',
    description: 'How long units of writing took, waiting and repetitions included.',
    labels: ['db.system.name', 'db.operation.name', 'error.type'],
    bounds: shortSeconds,
  },
  'familiar.database.retries': {
    kind: 'counter',
    unit: '{retry}',
    description: 'Units of writing that were run again because the database refused them.',
    labels: ['db.system.name'],
  },
  'http.server.request.duration': {
    kind: 'histogram',
    unit: 's',
    description: 'How long requests took until their answer began.',
    labels: ['http.request.method', 'http.route', 'http.response.status_code', 'url.scheme', 'error.type'],
    bounds: requestSeconds,
  },
  'process.memory.usage': { kind: 'gauge', unit: 'By', description: 'Resident memory.', labels: [] },
  'process.cpu.time': { kind: 'counter', unit: 's', description: 'Time on processors.', labels: ['cpu.mode'] },
  'process.uptime': { kind: 'gauge', unit: 's', description: 'How long the process has run.', labels: [] },
  'nodejs.eventloop.delay.p50': {
    kind: 'gauge',
    unit: 's',
    description: 'Half of the delays of the event loop since the last reading were shorter.',
    labels: [],
  },
  'nodejs.eventloop.delay.p99': {
    kind: 'gauge',
    unit: 's',
    description: '99 of 100 delays of the event loop since the last reading were shorter.',
    labels: [],
  },
  'nodejs.eventloop.delay.max': {
    kind: 'gauge',
    unit: 's',
    description: 'The longest delay of the event loop since the last reading.',
    labels: [],
  },
  'nodejs.eventloop.utilization': {
    kind: 'gauge',
    unit: '1',
    description: 'The share of time since the last reading in which the event loop was busy.',
    labels: [],
  },
  'familiar.telemetry.dropped': {
    kind: 'counter',
    unit: '{item}',
    description: 'Spans and sets of metrics that did not reach the collector.',
    labels: ['familiar.telemetry.signal', 'familiar.telemetry.reason'],
  },
} as const satisfies Record<string, MetricDefinition>

type Definitions = typeof metricDefinitions
export type MetricName = keyof Definitions
type NameOfKind<Kind> = { [Name in MetricName]: Definitions[Name]['kind'] extends Kind ? Name : never }[MetricName]
export type CounterName = NameOfKind<'counter'>
export type HistogramName = NameOfKind<'histogram'>
export type ObservedName = NameOfKind<'counter' | 'gauge'>
type LabelOf<Name extends MetricName> = Definitions[Name]['labels'][number]
export type LabelsOf<Name extends MetricName> = { [Key in LabelOf<Name>]?: string }
