import fc from 'fast-check'
import { expect, test } from 'vitest'
import { numberIn, readCsv, sortRows, writeCsv } from './csv.ts'

const quoted = (rows: readonly (readonly string[])[]) =>
  rows.map((row) => row.map((cell) => `"${cell.replaceAll('"', '""')}"`).join(',')).join('\r\n')

const cell = fc.string({ unit: fc.constantFrom('a', '"', ',', ';', '\n', '\r', '\t', ' ', 'ü') })
// The first line decides about the separator.
const table = fc
  .tuple(fc.integer({ min: 2, max: 5 }), fc.array(fc.array(cell, { minLength: 5, maxLength: 5 })))
  .map(([width, rows]) => [
    Array.from({ length: width }, (_, at) => `h${at}`),
    ...rows.map((row) => row.slice(0, width)),
  ])

test('PAGE-8 reads every cell of a CSV text as it was written', () => {
  fc.assert(
    fc.property(table, (rows) => {
      expect(readCsv(quoted(rows))).toEqual({ rows, isCut: false })
    }),
  )
})

test('PAGE-3b a table that is copied as CSV has every cell', () => {
  fc.assert(
    fc.property(table, (rows) => {
      expect(readCsv(writeCsv(rows))).toEqual({ rows, isCut: false })
    }),
  )
  expect(writeCsv([['plain', 'a,b', 'say "x"']])).toBe('plain,"a,b","say ""x"""\r\n')
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
  expect(readCsv('x,'.repeat(30_000), 100_000).isCut).toBe(false)
})

test('PAGE-13 sorts by value where a column has numbers, by words otherwise, and loses no row', () => {
  const column = (rows: string[][]) => rows.map(([first]) => first)
  const numbers = [['10'], ['9'], [''], ['1,200.5'], ['-3']]
  expect(column(sortRows(numbers, 0, false))).toEqual(['-3', '9', '10', '1,200.5', ''])
  expect(column(sortRows(numbers, 0, true))).toEqual(['1,200.5', '10', '9', '-3', ''])
  expect(column(sortRows([['item 10'], ['Item 9'], ['7']], 0, false))).toEqual(['7', 'Item 9', 'item 10'])
  expect(['$5', '12 %', '-$3', '1e3', '5 apples', '1.2.3', '', '-', '2024-01-02'].map(numberIn)).toEqual([
    5,
    12,
    -3,
    1000,
    ...Array.from({ length: 5 }, () => undefined),
  ])
  fc.assert(
    fc.property(table, fc.nat(5), fc.boolean(), (rows, at, isDown) => {
      const sorted = sortRows(rows, at, isDown)
      expect(new Set(sorted)).toEqual(new Set(rows))
      expect(sorted.length).toBe(rows.length)
    }),
  )
})
