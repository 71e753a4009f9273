import { afterEach, describe, expect, it } from 'vitest'
import { openRecallStore, type RecallStore } from '../../../test/support/recall-store.ts'
import { silentLogger } from '../../base/logger.ts'
import type { VectorMatch } from '../../storage/database.ts'
import { createFindByMeaning, type FindByMeaning } from './meaning.ts'

const day = 24 * 60 * 60 * 1_000
let store: RecallStore
afterEach(() => store.close())

async function open(options: Parameters<typeof openRecallStore>[0] = {}): Promise<void> {
  store = await openRecallStore(options)
}

async function askIds(text: string): Promise<string[]> {
  return (await store.recall({ userId: 'max', text, limit: 10 })).map(({ memory }) => memory.id)
}

describe('the order of what is recalled', () => {
  it('MEM-3 is deterministic, and the newest is first among equals', async () => {
    const matches: VectorMatch[] = []
    await open({ findByMeaning: async () => matches })
    for (let time = 0; time < 20; time += 1) {
      const { number } = await store.note('The bike is red', { kind: 'chunk' })
      matches.push({ number, score: 0.8 })
    }
    const order = await store.recall({ userId: 'max', text: 'bike', limit: 20 })
    const numbers = order.map(({ memory }) => memory.number)
    expect(numbers).toHaveLength(20)
    expect(numbers).toEqual(numbers.toSorted((a, b) => b - a))
    for (let time = 0; time < 3; time += 1)
      expect(await store.recall({ userId: 'max', text: 'bike', limit: 20 })).toEqual(order)
  })
})

describe('recall by meaning', () => {
  let matches: VectorMatch[] | undefined

  it('MEM-3 finds memories without a common word, nearest first', async () => {
    await open({ findByMeaning: async () => matches })
    const shellfish = await store.note('I cannot eat shellfish')
    const bike = await store.note('The bike is red')
    const lunch = await store.note('Lunch is at noon')
    matches = [
      { number: shellfish.number, score: 0.82 },
      { number: lunch.number, score: 0.6 },
      { number: bike.number, score: 0.41 },
    ]
    const found = await store.recall({ userId: 'max', text: 'prawns?', limit: 10 })
    // A vector always has a nearest one: too far is no answer.
    expect(found.map(({ memory }) => memory.id)).toEqual([shellfish.id, lunch.id])
    const [best] = found
    expect(best?.explain.cosine).toBe(0.82)
    expect(best?.explain.signals.find(({ name }) => name === 'meaning')).toMatchObject({ rank: 1, value: 1 })
  })

  it('MEM-3 ranks results of both words and meaning first', async () => {
    await open({ findByMeaning: async () => matches })
    const both = await store.note('Shrimp makes my throat swell')
    const byWord = await store.note('The shrimp boat left the harbour')
    const byMeaning = await store.note('Prawns make me ill')
    matches = [both, byMeaning, byWord].map(({ number }, index) => ({ number, score: 0.8 - index * 0.1 }))
    expect(await askIds('can I have shrimp')).toEqual([both.id, byWord.id, byMeaning.id])
  })

  it('MEM-3 finds a standing wish from further away, and everything it read on request', async () => {
    await open({ findByMeaning: async () => matches })
    const wish = await store.note('Always answer in metric units')
    const other = await store.note('The car was sold in spring')
    matches = [other, wish].map(({ number }) => ({ number, score: 0.5 }))
    const question = { userId: 'max', text: 'How far is Rome?', limit: 10 }
    const ids = (found: { memory: { id: string } }[]) => found.map(({ memory }) => memory.id)
    expect(ids(await store.recall(question))).toEqual([wish.id])
    expect(ids(await store.recall({ ...question, reach: 'everything' }))).toEqual([wish.id, other.id])
  })

  it('MEM-3 does not answer a question about days with distant memories of other days', async () => {
    await open({ findByMeaning: async () => matches })
    const today = await store.note('The boiler was repaired')
    const before = await store.note('The roof leaks', { at: store.clock.now() - 90 * day })
    matches = [before, today].map(({ number }) => ({ number, score: 0.4 }))
    expect(await askIds('What did I tell you today?')).toEqual([today.id])
  })

  it('MEM-3 uses words without an embedding', async () => {
    await open({ findByMeaning: async () => undefined })
    await store.note('The shrimp boat left the harbour')
    expect(await store.ask('shrimp')).toEqual(['The shrimp boat left the harbour'])
  })

  it('MEM-3 uses words if the embedding fails, and logs it once', async () => {
    const warnings: string[] = []
    const find: { byMeaning?: FindByMeaning } = {}
    await open({ findByMeaning: async (query) => find.byMeaning?.(query) })
    const { database } = store
    find.byMeaning = createFindByMeaning({
      database,
      searchModel: () => Promise.reject(new Error('The model file is gone')),
      embedderOf: () => undefined,
      vectorSearch: database.vectorSearch,
      logger: { ...silentLogger, warn: (message) => void warnings.push(message) },
      clock: store.clock,
    })
    await store.note('The shrimp boat left the harbour')
    for (let time = 0; time < 3; time += 1) expect(await store.ask('shrimp')).toHaveLength(1)
    expect(warnings).toEqual(['recall uses words only'])
  })

  it('MEM-3 rejects with the abort reason', async () => {
    const stop = new AbortController()
    await open({
      findByMeaning: ({ signal }) => {
        setImmediate(() => stop.abort(new Error('the user left')))
        return new Promise((_resolve, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))
      },
    })
    const found = store.recall({ userId: 'max', text: 'bike', limit: 5, signal: stop.signal })
    await expect(found).rejects.toThrow('the user left')
    await expect(store.recall({ userId: 'max', text: '', limit: 5, signal: stop.signal })).rejects.toThrow(
      'the user left',
    )
  })
})

describe('recall with decay', () => {
  const contents = ['The parcel comes at noon, says the bike shop', 'The bike was a present']

  async function fill(): Promise<void> {
    await store.note('The parcel comes at noon, says the bike shop', { tier: 'short_term' })
    await store.note('The bike was a present', { tier: 'long_term' })
  }

  it('MEM-2 drops short-term memories, and finds long-term ones a year later', async () => {
    await open()
    await fill()
    expect((await store.ask('bike')).toSorted()).toEqual(contents.toSorted())
    await store.clock.advance(365 * day)
    expect(await store.ask('bike')).toEqual(['The bike was a present'])
    const [found] = await store.recall({ userId: 'max', text: 'bike', limit: 1 })
    expect(found?.explain.strength).toBeCloseTo(0.8 * 2 ** (-365 / 180), 6)
  })

  it('MEM-2 counts cycles instead of time with that policy', async () => {
    await open({ decay: 'cycles' })
    await fill()
    await store.clock.advance(365 * day)
    expect(await store.ask('bike')).toHaveLength(2)
    for (let cycle = 0; cycle < 24; cycle += 1) await store.memories.nextCycle('max')
    expect(await store.ask('bike')).toEqual(['The bike was a present'])
    const [found] = await store.recall({ userId: 'max', text: 'bike', limit: 1 })
    expect(found?.explain.strength).toBeCloseTo(0.8 - 24 * 0.005, 10)
  })
})
