import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseTraceparent } from './telemetry.ts'

const hex = (length: number) =>
  fc.string({ unit: fc.constantFrom(...'0123456789abcdef'), minLength: length, maxLength: length })
const id = (length: number) => hex(length).filter((text) => !/^0+$/.test(text))

describe('traceparent', () => {
  it('SCALE-7 reads valid W3C headers with their flag', () => {
    fc.assert(
      fc.property(id(32), id(16), hex(2), (traceId, spanId, flags) => {
        const isSampled = Number.parseInt(flags, 16) % 2 === 1
        expect(parseTraceparent(`00-${traceId}-${spanId}-${flags}`)).toEqual({ traceId, spanId, isSampled })
        expect(parseTraceparent(`cc-${traceId}-${spanId}-${flags}-what-comes-later`)).toMatchObject({ traceId })
      }),
    )
  })

  it('SCALE-7 ignores anything else', () => {
    const valid = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
    const wrong = [
      undefined,
      '',
      valid.toUpperCase(),
      ` ${valid}`,
      `${valid}-more`,
      `ff${valid.slice(2)}`,
      valid.replace('4bf92f3577b34da6a3ce929d0e0e4736', '0'.repeat(32)),
      valid.replace('00f067aa0ba902b7', '0'.repeat(16)),
      valid.slice(0, -1),
    ]
    for (const header of wrong) expect(parseTraceparent(header), header).toBeUndefined()
    fc.assert(
      fc.property(fc.string(), (text) => {
        const parsed = parseTraceparent(text)
        if (parsed) expect(text).toContain(`${parsed.traceId}-${parsed.spanId}`)
      }),
    )
  })
})
