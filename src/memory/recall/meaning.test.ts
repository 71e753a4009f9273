import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type MemoryStore, openMemoryStore } from '../../../test/support/memory-store.ts'
import { type Logger, silentLogger } from '../../base/logger.ts'
import { toVectorBytes, type VectorSearch } from '../../storage/database.ts'
import type { Embedder } from '../embedding/embedders.ts'
import { createFindByMeaning } from './meaning.ts'

let store: MemoryStore
let warnings: unknown[]
let asked: unknown[]
beforeEach(async () => {
  store = await openMemoryStore()
  warnings = []
  asked = []
})
afterEach(() => store.close())

async function addVector(userId: string, model: string): Promise<number> {
  const { memory } = await store.memories.add({ userId, kind: 'note', content: 'A bike', source: 'user' })
  const row = { number: memory.number, user_id: userId, model, text_hash: 'hash' }
  await store.database.write(async (writer) => {
    const vector = toVectorBytes(Float32Array.of(1, 0))
    await writer
      .insertInto('memory_vectors')
      .values({ ...row, vector })
      .execute()
  })
  return memory.number
}

/** Finds one memory, unless `problem` is set. */
function open(options: { embed?: Embedder['embed']; search?: VectorSearch['search']; models?: string[] } = {}) {
  const { models = ['tiny'] } = options
  const embedder: Embedder = {
    model: 'tiny',
    dimensions: 2,
    embed: options.embed ?? (async (texts) => texts.map(() => Float32Array.of(1, 0))),
    close: async () => undefined,
  }
  const logger: Logger = { ...silentLogger, warn: (message, fields) => void warnings.push({ message, ...fields }) }
  return createFindByMeaning({
    database: store.database,
    searchModel: async () => 'tiny',
    embedderOf: (model) => (models.includes(model) ? embedder : undefined),
    vectorSearch: {
      search:
        options.search ??
        (async (query) => {
          asked.push(query)
          return [{ number: 7, score: 0.9 }]
        }),
      describe: async () => 'nothing',
      close: async () => undefined,
    },
    logger,
    clock: store.clock,
  })
}

const query = { userId: 'max', text: 'bike', limit: 5 }

describe('createFindByMeaning', () => {
  it("MEM-3 asks for the nearest of the user's own, with their model", async () => {
    await addVector('max', 'tiny')
    const uses: unknown[] = []
    const find = open({
      async embed(texts, use) {
        uses.push([texts, use])
        return [Float32Array.of(0, 1)]
      },
    })
    expect(await find(query)).toEqual([{ number: 7, score: 0.9 }])
    expect(uses).toEqual([[['bike'], 'question']])
    expect(asked).toEqual([{ userId: 'max', model: 'tiny', vector: Float32Array.of(0, 1), limit: 5 }])
  })

  it('MEM-3 returns a memory once, by its nearest passage, and compares only the wanted ones', async () => {
    const add = async (content: string) =>
      (await store.memories.add({ userId: 'max', kind: 'note', content, source: 'user' })).memory.number
    const [one, two] = [await add('one'), await add('two')]
    const rows = [
      [one, 0, [1, 0]],
      [one, 1, [0, 1]],
      [two, 0, [1, 1]],
    ] as const
    await store.database.write(async (writer) => {
      for (const [number, part, vector] of rows) {
        const bytes = toVectorBytes(Float32Array.from(vector))
        const row = { number, part, user_id: 'max', model: 'tiny', text_hash: `${number} ${part}`, vector: bytes }
        await writer.insertInto('memory_vectors').values(row).execute()
      }
    })
    const find = open({
      embed: async () => [Float32Array.of(0, 1)],
      search: async () => [
        { number: one, score: 1 },
        { number: two, score: 0.7 },
        { number: one, score: 0 },
      ],
    })
    expect(await find({ ...query })).toEqual([
      { number: one, score: 1, part: 1 },
      { number: two, score: 0.7 },
    ])
    expect(await find({ ...query, within: [two] })).toEqual([
      { number: two, score: expect.closeTo(Math.SQRT1_2, 2), part: 0 },
    ])
  })

  it('MEM-3 starts no model for a user without vectors of it', async () => {
    await addVector('eve', 'tiny')
    await addVector('max', 'another')
    const find = open({ embed: () => Promise.reject(new Error('started')) })
    expect(await find(query)).toBeUndefined()
    expect(warnings).toEqual([])
  })

  it('MEM-3 falls back to words if the model is not available', async () => {
    await addVector('max', 'tiny')
    expect(await open({ models: [] })(query)).toBeUndefined()
    expect(asked).toEqual([])
  })

  it('MEM-3 falls back to words if embedding or search fails, and logs it once until it works again', async () => {
    await addVector('max', 'tiny')
    let problem: string | undefined = 'no model file'
    const find = open({
      async embed(texts) {
        if (problem !== undefined) throw new Error(problem)
        return texts.map(() => Float32Array.of(1, 0))
      },
    })
    for (let time = 0; time < 3; time += 1) expect(await find(query)).toBeUndefined()
    expect(warnings).toEqual([{ message: 'recall uses words only', problem: 'no model file' }])
    problem = 'out of memory'
    await find(query)
    expect(warnings).toHaveLength(2)
    problem = undefined
    expect(await find(query)).toHaveLength(1)
    problem = 'out of memory'
    await find(query)
    expect(warnings).toHaveLength(3)

    const failing = open({ search: () => Promise.reject(new Error('thread died')) })
    expect(await failing(query)).toBeUndefined()
    expect(warnings).toHaveLength(4)
  })

  it('MEM-3 rejects with the abort reason', async () => {
    await addVector('max', 'tiny')
    const stop = new AbortController()
    const find = open({
      embed: (_texts, _use, signal) => {
        setImmediate(() => stop.abort(new Error('the user left')))
        return new Promise((_resolve, reject) => signal?.addEventListener('abort', () => reject(new Error('cut'))))
      },
    })
    const found = find({ ...query, signal: stop.signal })
    await expect(found).rejects.toThrow('the user left')
    expect(warnings).toEqual([])
  })
})

it('MEM-3 does not wait long for vectors that have to be read first', async () => {
  await addVector('max', 'tiny')
  const searching = Promise.withResolvers<void>()
  const find = open({
    search: () => {
      searching.resolve()
      return new Promise(() => undefined)
    },
  })
  const found = find(query)
  await searching.promise
  await store.clock.advance(2_000)
  expect(await found).toBeUndefined()
})
