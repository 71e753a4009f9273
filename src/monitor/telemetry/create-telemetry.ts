import { pooledRandom } from '../../base/ids.ts'
import type { SpanContext, WorkContext } from '../../base/work-context.ts'
import { cleanAttributes, errorType, toName } from './attributes.ts'
import { createMetrics } from './metrics.ts'
import type { Span, SpanStart, Telemetry } from './telemetry.ts'

/** A span that has ended, as it is sent. Times are milliseconds since the epoch, with fractions. */
export interface EndedSpan {
  traceId: string
  spanId: string
  parentId: string | undefined
  name: string
  kind: SpanStart['kind']
  startedAt: number
  endedAt: number
  attributes: [string, string | number][]
  failure: string | undefined
}

/** `onSpan` undefined: nobody wants spans, and none is made. It must return at once. */
export function createTelemetry(dependencies: {
  work: WorkContext
  onSpan?: ((span: EndedSpan) => void) | undefined
  /** Finer than a clock: units of writing take less than a millisecond. */
  now?: () => number
  random?: (size: number) => Uint8Array
}): Telemetry {
  const { work, onSpan, random = pooledRandom() } = dependencies
  const { now = () => performance.timeOrigin + performance.now() } = dependencies

  const newId = (bytes: number) => Buffer.from(random(bytes)).toString('hex')

  function begin(start: SpanStart): { span: Span; context: SpanContext | undefined } {
    const parent = work.current().span
    const startedAt = now()
    const seconds = () => Math.max(0, now() - startedAt) / 1_000
    // Whoever called has decided that nobody looks at this trace.
    const isWanted = onSpan !== undefined && parent?.isSampled !== false
    if (!isWanted) return { span: { set() {}, fail() {}, end: seconds }, context: parent }
    const traceId = parent?.traceId ?? newId(16)
    const spanId = newId(8)
    const attributes = new Map(cleanAttributes(start.attributes ?? {}))
    let failure: string | undefined
    let isOver = false
    const span: Span = {
      set(more) {
        for (const [key, value] of cleanAttributes(more)) attributes.set(key, value)
      },
      fail(type) {
        failure = toName(type)
      },
      end() {
        const took = seconds()
        if (isOver) return took
        isOver = true
        if (failure !== undefined) attributes.set('error.type', failure)
        onSpan({
          traceId,
          spanId,
          parentId: parent?.spanId,
          name: nameOf(start),
          kind: start.kind,
          startedAt,
          endedAt: startedAt + took * 1_000,
          attributes: [...attributes],
          failure,
        })
        return took
      },
    }
    return { span, context: { traceId, spanId, isSampled: true } }
  }

  return {
    ...createMetrics(),
    work,
    startSpan: (start) => begin(start).span,
    async inSpan(start, task) {
      const { span, context } = begin(start)
      try {
        return await work.within({ span: context }, () => task(span))
      } catch (cause) {
        span.fail(errorType(cause))
        throw cause
      } finally {
        span.end()
      }
    },
  }
}

function nameOf({ operation, target }: SpanStart): string {
  return target === undefined ? toName(operation) : `${toName(operation)} ${toName(target)}`
}
