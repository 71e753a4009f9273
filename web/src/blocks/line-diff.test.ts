import fc from 'fast-check'
import { expect, it } from 'vitest'
import { diffLines, withContext } from './line-diff.ts'

const shown = (before: string, after: string) =>
  diffLines(before, after).map(({ kind, text }) => ({ same: ' ', added: '+', removed: '-' })[kind] + text)

it('PAGE-6 what changed stands between what did not', () => {
  expect(shown('a\nb\nc\n', 'a\nB\nc\nd\n')).toEqual([' a', '-b', '+B', ' c', '+d'])
  expect(shown('', 'a')).toEqual(['+a'])
  expect(shown('a', '')).toEqual(['-a'])
  expect(shown('same\n', 'same\n')).toEqual([' same'])
})

it('PAGE-6 both texts can be read out of what is shown', () => {
  const text = fc.array(fc.constantFrom('a', 'b', 'c', '', '  d'), { maxLength: 12 }).map((lines) => lines.join('\n'))
  fc.assert(
    fc.property(text, text, (before, after) => {
      const lines = diffLines(`${before}\n`, `${after}\n`)
      const side = (left: string) => lines.flatMap(({ kind, text: line }) => (kind === left ? [] : [line])).join('\n')
      expect(side('added')).toBe(before)
      expect(side('removed')).toBe(after)
    }),
  )
})

it('PAGE-6 what is too long to compare is shown as a whole', () => {
  const before = Array.from({ length: 3_000 }, (_, n) => `a${n}`).join('\n')
  const after = Array.from({ length: 3_000 }, (_, n) => `b${n}`).join('\n')
  expect(diffLines(before, after)).toHaveLength(6_000)
})

it('PAGE-6 long runs of the same are left out', () => {
  const lines = Array.from({ length: 20 }, (_, n) => `${n}`)
  const rows = withContext(diffLines(lines.join('\n'), lines.with(10, 'ten').join('\n')))
  expect(rows.map((row) => (row.kind === 'left_out' ? row.count : row.text))).toEqual([
    ...[7, '7', '8', '9', '10', 'ten', '11', '12', '13', 6],
  ])
})
