import { expect, it } from 'vitest'
import { readProposal } from './compact-answer.ts'

function question(before: string, after: string): string {
  return [
    'familiar:///blocks/notes/a.md, summarised by the fast model.',
    'Before (1.2k tokens by cl100k):',
    before,
    'After (300 tokens):',
    after,
    'Replace it? [abc → def]',
  ].join('\n')
}

it('PAGE-6 both sizes, how it came about and the new text are read out of the question', () => {
  expect(readProposal(question('long\ntext\n', 'short\n\ntext'), 'long\ntext\n')).toEqual({
    means: 'summarised by the fast model',
    beforeTokens: '1.2k',
    after: 'short\n\ntext',
    afterTokens: '300',
  })
})

it('PAGE-6 a block that holds the words of the question is read as what it is', () => {
  const before = 'x\nAfter (9 tokens):\nno\nReplace it? [y]'
  expect(readProposal(question(before, 'After (1 tokens):\nReplace it? [z]'), before)?.after).toBe(
    'After (1 tokens):\nReplace it? [z]',
  )
})

it('PAGE-6 other words are not taken for a proposal', () => {
  expect(readProposal('Summarise the oldest part?', '')).toBeUndefined()
})
