import fc from 'fast-check'
import { expect, it } from 'vitest'
import { escapeNulls, unescapeNulls } from './connection.ts'

const text = fc
  .array(fc.oneof(fc.constantFrom('\u0000', '\u0001', '\u0002', 'a'), fc.string({ unit: 'binary' })))
  .map((parts) => parts.join(''))

it('SCALE-1 any text reads back unchanged and contains no U+0000 when stored', () => {
  fc.assert(
    fc.property(text, (given) => {
      expect(escapeNulls(given)).not.toContain('\u0000')
      expect(unescapeNulls(escapeNulls(given))).toBe(given)
    }),
    { numRuns: 2000 },
  )
})

it('SCALE-1 texts keep their byte order', () => {
  const compare = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b))
  fc.assert(
    fc.property(text, text, (a, b) => {
      expect(compare(escapeNulls(a), escapeNulls(b))).toBe(compare(a, b))
    }),
    { numRuns: 2000 },
  )
})

it('SCALE-1 text written by another program is returned unchanged', () => {
  expect(unescapeNulls('a\u0001b\u0001')).toBe('a\u0001b\u0001')
})
