import type { SpanContext } from '../../base/work-context.ts'

const shape = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/
const zeros = /^0+$/

/** The W3C header `traceparent`; undefined for one that is not valid, which then counts as none. */
export function parseTraceparent(header: string | undefined): SpanContext | undefined {
  const [, version, traceId = '', spanId = '', flags = '', rest] = shape.exec(header ?? '') ?? []
  if (version === undefined || version === 'ff' || zeros.test(traceId) || zeros.test(spanId)) return undefined
  // Later versions may say more after a dash; the first one does not.
  if (version === '00' && rest !== undefined) return undefined
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 }
}
