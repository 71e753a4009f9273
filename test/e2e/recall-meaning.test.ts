import { cpSync, existsSync, mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { createIds } from '../../src/base/ids.ts'
import { silentLogger } from '../../src/base/logger.ts'
import { createEmbeddingJob } from '../../src/memory/embedding/embed-memories.ts'
import { createEmbedders, type Embedder, toUnitVector } from '../../src/memory/embedding/embedders.ts'
import { localEmbeddingModel, localModelFolder, modelFiles } from '../../src/memory/embedding/local-embedder.ts'
import { createGraph } from '../../src/memory/graph.ts'
import { createMemories } from '../../src/memory/memories.ts'
import { createEmbeddingText, createFindByMeaning } from '../../src/memory/recall/meaning.ts'
import { createRecall } from '../../src/memory/recall/recall.ts'
import { createKnownSpeakers } from '../../src/memory/recall/window-words.ts'
import { termsOf } from '../../src/memory/words.ts'
import { openSqlite } from '../../src/storage/sqlite/open-sqlite.ts'
import { createManualClock } from '../support/manual-clock.ts'

const hasModel = Object.values(modelFiles).every((file) => existsSync(join(localModelFolder, file)))
const now = Date.UTC(2026, 10, 15, 9)
const yearMs = 365 * 24 * 60 * 60 * 1_000
const allergy = 'I am allergic to shellfish'

/** All parts of recall by meaning, over the database in that folder, as in a new process. */
async function openFamiliar(folder: string, own?: Embedder) {
  const clock = createManualClock(now)
  const path = join(folder, 'familiar.db')
  const database = await openSqlite({ path, clock, snapshotDirectory: folder })
  const embedders = createEmbedders(
    { provider: 'local' },
    { modelFolder: localModelFolder, clock, random: Math.random },
  )
  const embedder = own ?? (embedders.current as Embedder)
  const speakers = createKnownSpeakers({ database, now: clock.now })
  const job = createEmbeddingJob({
    database,
    embedder,
    olderEmbedder: embedders.byModel,
    clock,
    logger: silentLogger,
    embeddingText: createEmbeddingText(speakers),
  })
  const memories = createMemories({ database, clock, ids: createIds(clock) })
  const { recall } = createRecall({
    database,
    memories,
    graph: createGraph({ database, clock }),
    speakers,
    clock,
    timeZone: 'UTC',
    decay: () => 'time',
    findByMeaning: createFindByMeaning({
      database,
      searchModel: job.searchModel,
      embedderOf: (model) => (model === embedder.model ? embedder : embedders.byModel(model)),
      vectorSearch: database.vectorSearch,
      logger: silentLogger,
      clock,
    }),
  })
  return {
    clock,
    database,
    memories,
    job,
    async ask(text: string) {
      const found = await recall({ userId: 'max', text, limit: 3 })
      return found.map(({ memory }) => memory.content)
    },
    async untilEmbedded() {
      job.wake()
      while ((await job.status()).isRunning) await pause()
    },
    async modelsOfVectors() {
      const rows = await database.read.selectFrom('memory_vectors').select('model').distinct().execute()
      return rows.map(({ model }) => model).toSorted()
    },
    async close() {
      await job.close()
      await embedders.close()
      await database.close()
    },
  }
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 20))
}

/** Three hundred notes of everyday life, some of them about food, and one that holds a word of the question. */
function otherNotes(): string[] {
  const people = ['Anna', 'Bo', 'My sister', 'The neighbour', 'My boss', 'Uncle Karl']
  const things = `bought a blue bicycle/moved to a flat by the river/plays chess on Mondays/has a meeting about the budget/
    needs a new passport/painted the kitchen yellow/likes pasta with basil/wants to learn the violin/watched a film about
    trains/fixed the leaking tap/is reading a book on gardening/had pizza for dinner/forgot the umbrella at the office/runs
    ten kilometres every week/adopted a grey cat/booked a table for two at the Italian place/drinks coffee without sugar/
    lost the keys to the garage/baked a cake with plums/has breakfast at seven/started a course in pottery/sold the old
    car/is afraid of spiders/planted tomatoes on the balcony/has a dentist appointment/collects stamps from Norway/cooks
    soup on Sundays/took the night train to Vienna/broke a tooth on a nut/prefers tea in the morning/goes swimming before
    work/wrote a letter to the bank/caught a cold in October/ordered new glasses/has bread in the oven/wears a green coat/
    plans a trip to the mountains/repaired the radio/grilled vegetables for lunch/keeps bees behind the house/voted by
    mail/sings in a choir/dislikes loud music/takes vitamins in winter/built a shelf for the books/lends out a ladder/
    missed the bus on Friday/fries potatoes in butter/sleeps badly at full moon/studies for an exam`
  const lines = things.split('/').map((thing) => thing.replaceAll(/\s+/g, ' ').trim())
  const notes = people.flatMap((person) => lines.map((line) => `${person} ${line}`))
  return ['We eat at seven on weekdays', ...notes.slice(1)]
}

/** Words that mean the same point the same way; nothing else does. */
function createTinyEmbedder(gate: Promise<void> = Promise.resolve()): Embedder {
  const dimensions = 64
  return {
    model: 'tiny/1',
    dimensions,
    async embed(texts, use, signal) {
      if (use === 'memory') await Promise.race([gate, stopped(signal)])
      return texts.map((text) => {
        const vector = new Float32Array(dimensions)
        for (const term of termsOf(text.replaceAll(/shellfish|shrimps?|allergic/gi, 'seafood'))) {
          const place = [...term].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) % dimensions, 7)
          vector[place] = (vector[place] ?? 0) + 1
        }
        return toUnitVector(vector)
      })
    },
    close: async () => undefined,
  }
}

function stopped(signal?: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))
}

const name = hasModel
  ? 'recall by meaning'
  : 'recall by meaning: skipped, the model files are missing (npm test fetches them)'

describe.skipIf(!hasModel)(name, () => {
  let filled: string
  let folder: string
  let familiar: Awaited<ReturnType<typeof openFamiliar>> | undefined

  beforeAll(async () => {
    filled = mkdtempSync(join(tmpdir(), 'familiar-meaning-'))
    const filling = await openFamiliar(filled)
    const { database, memories, clock } = filling
    await database.write(async (writer) => {
      await writer.insertInto('users').values({ id: 'max', name: 'Max', role: 'user', created_at: 0 }).execute()
    })
    clock.setTime(now - yearMs)
    await memories.add({ userId: 'max', kind: 'note', content: allergy, source: 'user' })
    clock.setTime(now)
    await database.write(async (writer) => {
      for (const content of otherNotes()) {
        await memories.addIn(writer, { userId: 'max', kind: 'note', content, source: 'user' })
      }
    })
    await filling.untilEmbedded()
    await filling.close()
  }, 120_000)
  afterAll(() => rm(filled, { recursive: true, force: true }))
  afterEach(async () => {
    await familiar?.close()
    familiar = undefined
    await rm(folder, { recursive: true, force: true })
  })

  /** A copy of the filled store, opened by a process that knows nothing yet. */
  async function begin(own?: Embedder) {
    folder = mkdtempSync(join(tmpdir(), 'familiar-meaning-'))
    cpSync(filled, folder, { recursive: true })
    familiar = await openFamiliar(folder, own)
    return familiar
  }

  it('MEM-2 a year-old allergy is among the first three of 300 notes for a question about shrimp', async () => {
    const { ask, job } = await begin()
    expect(await job.status('max')).toMatchObject({ embedded: 301, total: 301 })
    expect(await ask('can I eat shrimp?')).toContain(allergy)
    expect(await ask('Are prawns dangerous for me?')).toContain(allergy)
  })

  it('MEM-15 finds it after a restart of everything, also messages since then', async () => {
    const first = await begin()
    await first.ask('can I eat shrimp?')
    await first.memories.add({
      userId: 'max',
      kind: 'note',
      content: 'The physician said no to lobster',
      source: 'user',
    })
    await first.untilEmbedded()
    await first.close()
    familiar = await openFamiliar(folder)
    const found = await familiar.ask('can I eat shrimp?')
    expect(found).toContain(allergy)
    expect(await familiar.ask('Which crustaceans did the doctor forbid?')).toContain('The physician said no to lobster')
  })

  it('MEM-15 searches with the model of before while another takes over, and then with that', async () => {
    let open = () => {}
    const gate = new Promise<void>((resolve) => {
      open = resolve
    })
    const { ask, job, untilEmbedded, modelsOfVectors } = await begin(createTinyEmbedder(gate))
    job.wake()
    while (!(await job.status()).isRunning) await pause()
    expect(await job.searchModel('max')).toBe(localEmbeddingModel)
    expect(await ask('can I eat shrimp?')).toContain(allergy)
    open()
    await untilEmbedded()
    expect(await job.status('max')).toMatchObject({ model: 'tiny/1', embedded: 301, total: 301, problem: null })
    expect(await modelsOfVectors()).toEqual(['tiny/1'])
    expect(await job.searchModel('max')).toBe('tiny/1')
    expect(await ask('shrimp?')).toEqual([allergy])
  })
})
