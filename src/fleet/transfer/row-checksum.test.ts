import fc from 'fast-check'
import { expect, test } from 'vitest'
import { anyText } from '../../../test/support/any-text.ts'
import { type CellValue, createRowChecksum, type Row } from './tables.ts'

const columns = ['a', 'b']
const anyValue = fc.oneof<fc.Arbitrary<CellValue>[]>(
  anyText.map((text) => text.toWellFormed()),
  fc.double({ noNaN: true }),
  fc.uint8Array(),
  fc.constant(null),
)
const anyRow = fc.record({ a: anyValue, b: anyValue })

function checksumOf(rows: readonly Row[]): string {
  const checksum = createRowChecksum(columns)
  for (const row of rows) checksum.add(row)
  return checksum.digest()
}

test('SCALE-3 the order of rows and columns does not change a checksum', () => {
  fc.assert(
    fc.property(fc.array(anyRow), (rows) => {
      const turned = rows.toReversed().map(({ a, b }) => ({ b, a }))
      expect(checksumOf(turned)).toBe(checksumOf(rows))
    }),
  )
})

test('SCALE-3 any other value changes it, of any kind, and so does a missing or additional row', () => {
  fc.assert(
    fc.property(fc.array(anyRow, { minLength: 1 }), anyRow, (rows, other) => {
      const [first, ...rest] = rows
      expect(checksumOf(rest)).not.toBe(checksumOf(rows))
      fc.pre(String(JSON.stringify(first)) !== JSON.stringify(other))
      expect(checksumOf([other, ...rest])).not.toBe(checksumOf(rows))
    }),
  )
})

test.each<[CellValue, CellValue]>([
  ['1', 1],
  ['', null],
  [0, null],
  ['', new Uint8Array()],
  ['a', new Uint8Array([97])],
  ['a\0', 'a'],
])('SCALE-3 %o differs from %o', (one, other) => {
  expect(checksumOf([{ a: one, b: null }])).not.toBe(checksumOf([{ a: other, b: null }]))
})

test('SCALE-3 the end of one column is not the start of the next', () => {
  expect(checksumOf([{ a: 'xb"1:', b: '' }])).not.toBe(checksumOf([{ a: 'x', b: 'b"1:' }]))
})

test('SCALE-3 the two zeros are one: SQLite keeps no sign', () => {
  expect(checksumOf([{ a: -0, b: 1 }])).toBe(checksumOf([{ a: 0, b: 1 }]))
})
