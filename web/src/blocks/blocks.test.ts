import fc from 'fast-check'
import { expect, it } from 'vitest'
import { diffLines, movePin, readProposal, withContext } from './blocks.ts'

it('PAGE-6 a pin that is moved takes its place, and the others close up', () => {
  const pin = (label: string, position: number) => ({
    label,
    position,
    tokens: 1,
    trust: 'owner' as const,
    pinned_at: '',
  })
  const pinned = { pins: [pin('a', 1), pin('b', 2), pin('c', 3)], tokens: 3, budget: 9 }
  const order = (label: string, position: number) =>
    movePin(pinned, label, position).pins.map((one) => `${one.position}${one.label}`)
  expect(order('c', 1)).toEqual(['1c', '2a', '3b'])
  expect(order('a', 3)).toEqual(['1b', '2c', '3a'])
  expect(order('x', 1)).toEqual(['1a', '2b', '3c'])
})

function question(before: string, after: string): string {
  return [
    'familiar:///blocks/notes/a.md, summarized by the fast model.',
    'Before (1.2k tokens by cl100k):',
    before,
    'After (300 tokens):',
    after,
    'Replace it? [abc → def]',
  ].join('\n')
}

it('PAGE-6 both sizes, how it came about and the new text are read out of the question', () => {
  expect(readProposal(question('long\ntext\n', 'short\n\ntext'), 'long\ntext\n')).toEqual({
    means: 'summarized by the fast model',
    beforeTokens: '1.2k',
    after: 'short\n\ntext',
    afterTokens: '300',
  })
})

it('PAGE-6 a block that contains the words of the question is read correctly', () => {
  const before = 'x\nAfter (9 tokens):\nno\nReplace it? [y]'
  expect(readProposal(question(before, 'After (1 tokens):\nReplace it? [z]'), before)?.after).toBe(
    'After (1 tokens):\nReplace it? [z]',
  )
})

it('PAGE-6 other text is not read as a proposal', () => {
  expect(readProposal('Summarize the oldest part?', '')).toBeUndefined()
})

const shown = (before: string, after: string) =>
  diffLines(before, after).map(({ kind, text }) => ({ same: ' ', added: '+', removed: '-' })[kind] + text)

it('PAGE-6 shows changed lines between unchanged ones', () => {
  expect(shown('a\nb\nc\n', 'a\nB\nc\nd\n')).toEqual([' a', '-b', '+B', ' c', '+d'])
  expect(shown('', 'a')).toEqual(['+a'])
  expect(shown('a', '')).toEqual(['-a'])
  expect(shown('same\n', 'same\n')).toEqual([' same'])
})

it('PAGE-6 both texts can be restored from the diff', () => {
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

it('PAGE-6 shows texts that are too long to compare as a whole', () => {
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
