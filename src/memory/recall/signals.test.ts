import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openRecallStore, type RecallStore } from '../../../test/support/recall-store.ts'
import type { VectorMatch } from '../../storage/database.ts'
import type { Memory, NewMemory } from '../memory.ts'
import type { SignalName } from './weights.ts'

const day = 24 * 60 * 60 * 1_000
const longAgo = Date.UTC(2026, 0, 1)
// Meaningless text of this length.
const padding = (length: number) => ' and so it is'.repeat(80).slice(0, length)

let store: RecallStore
let matches: VectorMatch[] | undefined
beforeEach(async () => {
  matches = undefined
  store = await openRecallStore({ findByMeaning: async () => matches })
})
afterEach(() => store.close())

/** Passages, so that two may be equal. */
function add(change: Partial<NewMemory>): Promise<Memory> {
  return store.note('Here is the bike, and it is red', { kind: 'chunk', at: longAgo, ...change })
}

async function expectBetter(
  question: string,
  { better, worse }: { better: Memory; worse: Memory },
  because: SignalName,
) {
  const found = await store.recall({ userId: 'max', text: question, limit: 100 })
  const [first, second] = [better, worse].map(({ id }) => found.find(({ memory }) => memory.id === id))
  const added = [first, second].map((one) => one?.explain.signals.find(({ name }) => name === because)?.added ?? 0)
  expect(added[0]).toBeGreaterThan(added[1] ?? 0)
  expect(first?.score).toBeGreaterThan(second?.score ?? 0)
}

const prose = { speaker: 'assistant' }
const cases: [SignalName, string, Partial<NewMemory>, Partial<NewMemory>][] = [
  ['standing', 'bike', { content: 'Always lock the red bike' }, { content: 'They locked the red bike' }],
  ['strength', 'bike', { priority: 0.9 }, { priority: 0.3 }],
  ['kept', 'bike', { kind: 'note' }, {}],
  ['speaker', "Anna's bike", { speaker: 'Anna' }, { speaker: 'Bo' }],
  ['role', 'bike', { speaker: 'user' }, { speaker: 'assistant' }],
  ['dates', 'bike in January', {}, { at: longAgo + 120 * day }],
  ['dates', 'bike of 3 May 2026', { content: 'Red bike, 3 May 2026' }, { content: 'Red bike, 3 May 2025' }],
  ['number', 'how many bikes', { content: 'Those are 3 bikes' }, { content: 'Those are x bikes' }],
  ['self', 'bike', { content: 'Here is my bike' }, { content: 'Here is no bike' }],
  ['tags', 'bike', { content: 'Over there', tags: ['bike'] }, { content: 'Over there bike' }],
  ['asks itself', 'bike', { content: 'The bike is red.' }, { content: 'The bike is red?' }],
  ['says little', 'bike', { content: `bike${padding(70)}` }, { content: 'bike' }],
  ['is long', 'bike', { content: `bike${padding(96)}`, ...prose }, { content: `bike${padding(700)}`, ...prose }],
  ['is cut', 'bike', {}, { passages: 2 }],
  ['has many passages', 'bike', { ...prose, passages: 2 }, { ...prose, passages: 7 }],
]

describe('signals', () => {
  it.each(cases)(
    'MEM-3 a single signal decides between equals: %s, asked for %s',
    async (name, question, better, worse) => {
      await expectBetter(question, { better: await add(better), worse: await add(worse) }, name)
      // Independent of the insertion order.
      await expectBetter(question, { worse: await add(worse), better: await add(better) }, name)
    },
  )

  it('MEM-3 ranks the newer first between equals that were used at the same time', async () => {
    const [worse, better] = [await add({}), await add({ at: longAgo + 60 * day })]
    await store.memories.used('max', [worse.id, better.id])
    await expectBetter('bike', { better, worse }, 'recency')
  })

  it('MEM-2 ranks the used one first', async () => {
    const [better, worse] = [await add({}), await add({})]
    await store.memories.used('max', [better.id])
    await expectBetter('bike', { better, worse }, 'strength')
  })

  it('MEM-3 ranks a memory linked to the best first', async () => {
    for (let number = 0; number < 20; number += 1) await add({ content: 'Nothing of the kind' })
    for (let number = 0; number < 6; number += 1) await add({ content: 'bike and car' })
    const best = await store.note('bike bike bike')
    const [better, worse] = [await add({}), await add({})]
    await store.graph.link('max', { sourceId: best.id, targetId: better.id, relation: 'same day', weight: 1 })
    await expectBetter('bike', { better, worse }, 'graph')
  })

  it('MEM-3 ranks a memory near in meaning first', async () => {
    const [better, worse, far] = [await add({}), await add({}), await add({})]
    matches = [
      { number: better.number, score: 0.8 },
      { number: worse.number, score: 0.7 },
      { number: far.number, score: 0.6 },
    ]
    await expectBetter('cycle', { better, worse }, 'meaning')
  })

  it('MEM-3 ranks the conversation line with more words of the question first', async () => {
    const lines = (last: string) => ['Bike?', 'a', 'b', 'c', 'd', 'e', last]
    const [better] = await store.talk('lake', lines('The lake is cold'))
    const [worse] = await store.talk('hill', lines('The hill is cold'))
    await expectBetter('bike at the lake', { better: better as Memory, worse: worse as Memory }, 'thread words')
  })

  it('MEM-3 ranks the conversation line nearer in meaning first', async () => {
    const near = await store.talk('near', ['One', 'Two', 'Three'])
    const far = await store.talk('far', ['One', 'Two', 'Three'])
    const scores = [0.7, 0.9, 0.9, 0.7, 0.6, 0.6]
    matches = [...near, ...far].map(({ number }, index) => ({ number, score: scores[index] ?? 0 }))
    await expectBetter('cycle', { better: near[0] as Memory, worse: far[0] as Memory }, 'thread meaning')
  })

  it('MEM-3 every signal is between zero and one, for any input', async () => {
    await add({ content: 'I have 3 bikes since 3 May 2026?', tags: ['bike'], passages: 9, speaker: 'Anna' })
    await add({ content: `bike${padding(900)}`, at: store.clock.now() + day })
    await add({ priority: 0 })
    matches = [{ number: (await add({ content: 'x' })).number, score: 0.9 }]
    const found = await store.recall({ userId: 'max', text: 'How many bikes has Anna since May?', limit: 10 })
    expect(found).toHaveLength(4)
    for (const { value } of found.flatMap(({ explain }) => explain.signals)) {
      expect(value).toBeGreaterThan(0)
      expect(value).toBeLessThanOrEqual(1)
    }
  })
})
