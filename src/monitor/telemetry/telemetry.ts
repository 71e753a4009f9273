import { createWorkContext, type WorkContext } from '../../base/work-context.ts'
import type { Attributes } from './attributes.ts'
import { createMetrics, type Metrics } from './metrics.ts'

/** What a span is begun with. Its name is the operation and, where there is one, what it is done to: `chat small-model`. */
export interface SpanStart {
  operation: string
  target?: string
  kind: 'internal' | 'server' | 'client'
  attributes?: Attributes
}

/** Something that takes time. `end` is called once, by whoever began it; what comes after that is not told. */
export interface Span {
  set(attributes: Attributes): void
  /** It went wrong, in this way (see `errorType`). */
  fail(type: string): void
  /** How long it took, in seconds. */
  end(): number
}

/**
 * How long, how much and how often; never what was said (SCALE-7). Nothing here waits, throws or slows what is measured.
 * Metrics are always counted; spans are made only where there is a collector to send them to.
 */
export interface Telemetry extends Metrics {
  readonly work: WorkContext
  /** A part of what is under way here. */
  startSpan(start: SpanStart): Span
  /** Runs the task in a span: what it begins is part of it. What the task throws passes through. */
  inSpan<T>(start: SpanStart, task: (span: Span) => Promise<T>): Promise<T>
}

const silentSpan: Span = { set() {}, fail() {}, end: () => 0 }

/** Counts, and tells nobody. */
export function createSilentTelemetry(): Telemetry {
  return {
    ...createMetrics(),
    work: createWorkContext(),
    startSpan: () => silentSpan,
    inSpan: (_start, task) => task(silentSpan),
  }
}
