import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readCsv } from './read-csv.ts'

const written = (rows: readonly (readonly string[])[]) =>
  rows.map((row) => row.map((cell) => `"${cell.replaceAll('"', '""')}"`).join(',')).join('\r\n')

test('PAGE-8 reads every cell of a CSV text as it was written', () => {
  const cell = fc.string({ unit: fc.constantFrom('a', '"', ',', ';', '\n', '\r', '\t', ' ', 'ü') })
  // The first line decides about the separator.
  const table = fc
    .tuple(fc.integer({ min: 2, max: 5 }), fc.array(fc.array(cell, { minLength: 5, maxLength: 5 })))
    .map(([width, rows]) => [
      Array.from({ length: width }, (_, at) => `h${at}`),
      ...rows.map((row) => row.slice(0, width)),
    ])
  fc.assert(
    fc.property(table, (rows) => {
      expect(readCsv(written(rows))).toEqual({ rows, isCut: false })
    }),
  )
})

test('PAGE-8 never fails, and ends', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (text) => {
      expect(readCsv(text).isCut).toBe(false)
    }),
  )
  expect(readCsv('a;b,c;d\n1;2,5;3\n').rows).toEqual([
    ['a', 'b,c', 'd'],
    ['1', '2,5', '3'],
  ])
  expect(readCsv('x,'.repeat(30_000)).isCut).toBe(true)
})
