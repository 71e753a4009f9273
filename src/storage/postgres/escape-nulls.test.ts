import fc from 'fast-check'
import { expect, it } from 'vitest'
import { escapeNulls, unescapeNulls } from './escape-nulls.ts'

const text = fc
  .array(fc.oneof(fc.constantFrom('\u0000', '\u0001', '\u0002', 'a'), fc.string({ unit: 'binary' })))
  .map((parts) => parts.join(''))

it('SCALE-1 any text comes back as it was, and holds no U+0000 meanwhile', () => {
  fc.assert(
    fc.property(text, (given) => {
      expect(escapeNulls(given)).not.toContain('\u0000')
      expect(unescapeNulls(escapeNulls(given))).toBe(given)
    }),
    { numRuns: 2000 },
  )
})

it('SCALE-1 two texts keep their order of bytes', () => {
  const compare = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b))
  fc.assert(
    fc.property(text, text, (a, b) => {
      expect(compare(escapeNulls(a), escapeNulls(b))).toBe(compare(a, b))
    }),
    { numRuns: 2000 },
  )
})

it('SCALE-1 what another program wrote is read as it is', () => {
  expect(unescapeNulls('a\u0001b\u0001')).toBe('a\u0001b\u0001')
})
