import { describe, expect, it } from 'vitest'
import { createToolCallCollector, type ToolCallPiece } from './openai-chat-answer.ts'

type Sent = Partial<ToolCallPiece>

function collect(...pieces: Sent[]): unknown[] {
  const calls = createToolCallCollector()
  const nothing = { index: undefined, id: undefined, name: undefined, input: undefined, signature: undefined }
  for (const piece of pieces) calls.add({ ...nothing, ...piece })
  return calls.collected().map(({ id, name, input }) => [id, name, input])
}

const both = [
  ['a', 'look', '{"n":1}'],
  ['b', 'look', '{"n":2}'],
]
const withoutIds = both.map(([, name, input]) => [undefined, name, input])

describe('createToolCallCollector', () => {
  it.each<[string, Sent[], unknown[]]>([
    [
      'pieces by index, mixed',
      [
        { index: 1, id: 'b', name: 'look', input: '' },
        { index: 0, id: 'a', name: 'look', input: '{"n"' },
        { index: 1, input: '{"n":2' },
        { index: 0, input: ':1}' },
        { index: 1, input: '}' },
      ],
      both,
    ],
    [
      'id and name repeated in every piece',
      [
        { index: 0, id: 'a', name: 'look', input: '{"n"' },
        { index: 0, id: 'a', name: 'look', input: ':1}' },
        { index: 1, id: 'b', name: 'look', input: '{"n":' },
        { index: 1, id: 'b', name: 'look', input: '2}' },
        { index: 1, id: 'b', name: 'look', input: '' },
      ],
      both,
    ],
    [
      'no index',
      [
        { id: 'a', name: 'look', input: '{"n"' },
        { input: ':1}' },
        { id: 'b', name: 'look', input: '' },
        { id: 'b', input: '{"n":2}' },
      ],
      both,
    ],
    [
      'no index and no id',
      [{ name: 'look', input: '{"n"' }, { input: ':1}' }, { name: 'look', input: '{"n":' }, { input: '2}' }],
      withoutIds,
    ],
    [
      'no index and no id, the name in every piece',
      [
        { name: 'look', input: '{"n"' },
        { name: 'look', input: ':1}' },
        { name: 'look', input: '{"n":2}' },
      ],
      withoutIds,
    ],
    [
      'no id',
      [
        { index: 0, name: 'look', input: '{"n":1}' },
        { index: 1, name: 'look' },
        { index: 1, input: '{"n":2}' },
      ],
      withoutIds,
    ],
    [
      'whole calls that all have the index 0',
      [
        { index: 0, id: 'a', name: 'look', input: '{"n":1}' },
        { index: 0, id: 'b', name: 'look', input: '{"n":2}' },
      ],
      both,
    ],
    [
      'one id for all calls',
      [
        { index: 0, id: 'a', name: 'look', input: '{"n":1}' },
        { index: 1, id: 'a', name: 'look', input: '{"n":2}' },
      ],
      [both[0] ?? [], ['a', 'look', '{"n":2}']],
    ],
    [
      'arguments as a value',
      [
        { id: 'a', name: 'look', input: { n: 1 } },
        { id: 'b', name: 'look', input: { n: 2 } },
      ],
      [
        ['a', 'look', { n: 1 }],
        ['b', 'look', { n: 2 }],
      ],
    ],
    [
      'a name that comes late',
      [
        { index: 0, id: 'a' },
        { index: 0, input: '{}' },
        { index: 0, name: 'look' },
      ],
      [['a', 'look', '{}']],
    ],
    [
      'no arguments',
      [{ name: 'look' }, { name: 'look' }],
      [
        [undefined, 'look', ''],
        [undefined, 'look', ''],
      ],
    ],
    ['nothing in a piece', [{}, { index: 0 }, { index: 0, id: 'a' }], []],
    ['arguments of nobody', [{ index: 0, input: '{}' }], [[undefined, '', '{}']]],
  ])('MODEL-1 accepts %s', (_what, pieces, calls) => {
    expect(collect(...pieces)).toEqual(calls)
  })
})
