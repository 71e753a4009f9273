import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createManualClock, type ManualClock } from '../../../test/support/manual-clock.ts'
import { openTestDatabase, sameDatabase } from '../../../test/support/open-test-database.ts'
import { waitFor } from '../../../test/support/wait-for.ts'
import { createIds } from '../../base/ids.ts'
import { type Logger, silentLogger } from '../../base/logger.ts'
import { FamiliarError } from '../../protocol/errors.ts'
import { type Database, fromVectorBytes } from '../../storage/database.ts'
import { createMemories, type Memories } from '../memories.ts'
import type { Memory } from '../memory.ts'
import { createEmbeddingJob, type EmbeddingJob } from './embed-memories.ts'
import type { Embedder } from './embedders.ts'

let folder: string
let clock: ManualClock
let database: Database
let memories: Memories
let jobs: EmbeddingJob[]

beforeEach(async () => {
  clock = createManualClock()
  jobs = []
  folder = await mkdtemp(join(tmpdir(), 'familiar-embedding-'))
  await open()
  await database.write(async (writer) => {
    const users = ['max', 'eve'].map((id) => ({ id, name: id, role: 'user' as const, created_at: clock.now() }))
    await writer.insertInto('users').values(users).execute()
  })
})

afterEach(async () => {
  await Promise.all(jobs.map((job) => job.close()))
  await database.close()
  await rm(folder, { recursive: true })
})

async function open() {
  database = await openTestDatabase({ directory: folder, clock })
  memories = createMemories({ database, clock, ids: createIds(clock) })
}

/** Stands in for a model: records its input. */
function createTestEmbedder(model: string, respond: (texts: readonly string[]) => Promise<void> | void = () => {}) {
  const texts: string[] = []
  const embedder: Embedder = {
    model,
    dimensions: 2,
    async embed(given, _use, signal) {
      signal?.throwIfAborted()
      await respond(given)
      texts.push(...given)
      return given.map((text) => Float32Array.of(text.length, model.length))
    },
    close: async () => undefined,
  }
  return { embedder, texts }
}

function startJob(embedder: Embedder, options: Partial<Parameters<typeof createEmbeddingJob>[0]> = {}) {
  const job = createEmbeddingJob({
    database,
    embedder,
    olderEmbedder: () => undefined,
    clock,
    logger: silentLogger,
    embeddingText: (memory: Memory) => memory.content,
    ...options,
  })
  jobs.push(job)
  return job
}

async function untilDone(job: EmbeddingJob): Promise<void> {
  while ((await job.status()).isRunning) await new Promise((resolve) => setTimeout(resolve, 2))
}

async function catchUp(job: EmbeddingJob): Promise<void> {
  job.wake()
  await untilDone(job)
}

async function add(content: string, userId = 'max'): Promise<Memory> {
  return (await memories.add({ userId, kind: 'chunk', content, source: 'user' })).memory
}

async function addMany(count: number, userId = 'max'): Promise<void> {
  for (let number = 0; number < count; number += 1) await add(`memory ${number} of ${userId}`, userId)
}

function vectors() {
  return database.read.selectFrom('memory_vectors').selectAll().orderBy('model').orderBy('number').execute()
}

async function modelsOfVectors(): Promise<Record<string, number>> {
  const rows = await vectors()
  return Object.fromEntries([...Map.groupBy(rows, (row) => row.model)].map(([model, own]) => [model, own.length]))
}

describe('embedding memories', () => {
  it('MEM-15 embeds every memory of every user, the newest as soon as it is woken', async () => {
    const { embedder, texts } = createTestEmbedder('a/1')
    await addMany(70)
    await addMany(3, 'eve')
    const job = startJob(embedder)
    expect(await job.status('max')).toEqual({ model: 'a/1', embedded: 0, total: 70, isRunning: false, problem: null })
    await catchUp(job)
    expect(await job.status()).toMatchObject({ embedded: 73, total: 73 })
    expect(await job.status('eve')).toMatchObject({ embedded: 3, total: 3 })
    expect(new Set(texts).size).toBe(73)
    const added = await add('The newest')
    await catchUp(job)
    expect(texts.slice(73)).toEqual(['The newest'])
    const row = (await vectors()).at(-1)
    expect(row).toMatchObject({ number: added.number, user_id: 'max', model: 'a/1' })
    const [first = 0, second = 0] = fromVectorBytes(row?.vector ?? new Uint8Array())
    expect(first / second).toBeCloseTo(10 / 3, 1)
  })

  it('MEM-15 MEM-3 gives a long text a vector per passage, and counts it once', async () => {
    const { embedder, texts } = createTestEmbedder('a/1')
    const content = Array.from({ length: 120 }, (_, day) => `Day ${day}: we walked along the river again.`).join('\n\n')
    const long = await add(content)
    await add('A short one')
    const job = startJob(embedder)
    await catchUp(job)
    const own = (await vectors()).filter(({ number }) => number === long.number)
    expect(own.length).toBeGreaterThan(2)
    expect(own.map(({ part }) => part).toSorted((a, b) => a - b)).toEqual([...own.keys()])
    expect(texts.some((text) => text.includes('Day 119:'))).toBe(true)
    expect(Math.max(...texts.map((text) => text.length))).toBeLessThan(1_800)
    expect(await job.status()).toMatchObject({ embedded: 2, total: 2 })
  })

  it('MEM-15 embeds the same text of a user once', async () => {
    const { embedder, texts } = createTestEmbedder('a/1')
    for (const content of ['same', 'same', 'other']) await add(content)
    const job = startJob(embedder, { embeddingText: async (memory) => memory.content.toUpperCase() })
    await catchUp(job)
    await add('same')
    await catchUp(job)
    expect(texts).toEqual(['SAME', 'OTHER'])
    await add('same', 'eve')
    await catchUp(job)
    expect(texts).toEqual(['SAME', 'OTHER', 'SAME'])
    expect((await vectors()).map((row) => row.user_id)).toEqual(['max', 'max', 'max', 'max', 'eve'])
  })

  it('MEM-15 finds missing vectors: at the start, and when woken with nothing new', async () => {
    const { embedder, texts } = createTestEmbedder('a/1')
    const old = await add('old')
    await addMany(40)
    const job = startJob(embedder)
    await catchUp(job)
    texts.length = 0
    // As an edit of a memory does.
    await database.write(async (writer) => {
      await writer.deleteFrom('memory_vectors').where('number', '=', old.number).execute()
      await writer.updateTable('memories').set({ content: 'edited' }).where('number', '=', old.number).execute()
    })
    await catchUp(job)
    expect(texts).toEqual([])
    await clock.advance(60_000)
    await untilDone(job)
    expect(texts).toEqual(['edited'])
    await database.write(async (writer) => {
      await writer.deleteFrom('memory_vectors').where('number', '=', old.number).execute()
    })
    await catchUp(startJob(embedder))
    expect(texts).toEqual(['edited', 'edited'])
  })

  it('MEM-15 writes no vector for a text that was changed or forgotten meanwhile', async () => {
    const [kept, changed, forgotten] = [await add('kept'), await add('changed'), await add('forgotten')]
    let isFirst = true
    const { embedder, texts } = createTestEmbedder('a/1', async () => {
      if (!isFirst) return
      isFirst = false
      await database.write(async (writer) => {
        const edit = { content: 'new', content_hash: 'new', updated_at: clock.now() + 1 }
        await writer.updateTable('memories').set(edit).where('number', '=', changed.number).execute()
        await writer.deleteFrom('memories').where('number', '=', forgotten.number).execute()
      })
    })
    const job = startJob(embedder)
    await catchUp(job)
    expect((await vectors()).map((row) => row.number)).toEqual([kept.number])
    await clock.advance(60_000)
    await untilDone(job)
    expect(texts).toEqual(['kept', 'changed', 'forgotten', 'new'])
  })

  it('MEM-15 backs off while the model fails, logs why once, and continues by itself', async () => {
    let isBroken = true
    const { embedder, texts } = createTestEmbedder('a/1', () => {
      if (isBroken) throw new FamiliarError('unavailable', 'no model')
    })
    const warnings: unknown[] = []
    const logger: Logger = { ...silentLogger, warn: (message, fields) => warnings.push([message, fields]) }
    await add('one')
    const job = startJob(embedder, { logger })
    job.wake()
    await waitFor(async () => expect((await job.status()).problem).toBe('no model'))
    for (let second = 0; second < 10; second += 1) {
      await new Promise((resolve) => setTimeout(resolve, 5))
      await clock.advance(1_000)
    }
    expect(await job.status()).toMatchObject({ embedded: 0, total: 1, isRunning: true, problem: 'no model' })
    expect(warnings).toEqual([[expect.any(String), { model: 'a/1', error: 'no model' }]])
    isBroken = false
    await clock.advance(5 * 60_000)
    await untilDone(job)
    expect(await job.status()).toMatchObject({ embedded: 1, problem: null })
    expect(texts).toEqual(['one'])
  })

  it('MEM-15 stops in the middle when closed', async () => {
    await addMany(100)
    const second = Promise.withResolvers<void>()
    const gate = Promise.withResolvers<void>()
    let batches = 0
    const { embedder } = createTestEmbedder('a/1', async () => {
      batches += 1
      if (batches < 2) return
      second.resolve()
      await gate.promise
    })
    const job = startJob(embedder)
    job.wake()
    await second.promise
    const closed = job.close()
    gate.resolve()
    await closed
    expect(batches).toBe(2)
    expect([32, 64]).toContain((await job.status()).embedded)
    job.wake()
    expect((await job.status()).isRunning).toBe(false)
  })
})

describe('changing the model', () => {
  it('MEM-15 searches with the old one until the new one has as many, keeps both up to date, then drops the old', async () => {
    const old = createTestEmbedder('a/1')
    await addMany(100)
    await catchUp(startJob(old.embedder))
    old.texts.length = 0

    const gate = Promise.withResolvers<void>()
    let given = 0
    const fresh = createTestEmbedder('b/1', async (texts) => {
      given += texts.length
      if (given > 64) await gate.promise
    })
    const job = startJob(fresh.embedder, { olderEmbedder: (model) => (model === 'a/1' ? old.embedder : undefined) })
    expect(await job.searchModel('max')).toBe('a/1')
    expect(await job.searchModel('eve')).toBe('b/1')
    job.wake()
    while ((await job.status()).embedded < 64) await new Promise((resolve) => setTimeout(resolve, 2))
    expect(await job.searchModel('max')).toBe('a/1')
    expect(await modelsOfVectors()).toEqual({ 'a/1': 100, 'b/1': 64 })
    await add('written while it changes')
    gate.resolve()
    await catchUp(job)
    expect(old.texts).toEqual(['written while it changes'])
    expect(await job.searchModel('max')).toBe('b/1')
    expect(await modelsOfVectors()).toEqual({ 'b/1': 101 })
    expect(fresh.texts).toHaveLength(101)
    expect(await job.status()).toMatchObject({ model: 'b/1', embedded: 101, total: 101 })
  })

  it('MEM-15 searches with the new one at once if the old one is no longer available', async () => {
    await addMany(5)
    await catchUp(startJob(createTestEmbedder('a/1').embedder))
    const job = startJob(createTestEmbedder('b/1').embedder)
    expect(await job.searchModel('max')).toBe('b/1')
    await catchUp(job)
    expect(await modelsOfVectors()).toEqual({ 'b/1': 5 })
  })

  it('MEM-15 continues with the new one when the old one fails', async () => {
    await addMany(5)
    await catchUp(startJob(createTestEmbedder('a/1').embedder))
    const broken = createTestEmbedder('a/1', () => Promise.reject(new Error('gone')))
    const job = startJob(createTestEmbedder('b/1').embedder, { olderEmbedder: () => broken.embedder })
    await job.searchModel('max')
    await add('new')
    await catchUp(job)
    expect(await modelsOfVectors()).toEqual({ 'b/1': 6 })
  })

  it('MEM-15 is resumed after a kill: complete, without duplicates, and the search switches over', async () => {
    await addMany(200)
    await catchUp(startJob(createTestEmbedder('a/1').embedder))
    await Promise.all(jobs.splice(0).map((job) => job.close()))
    await database.close()

    const log = join(folder, 'texts.log')
    await writeFile(log, '')
    const program = `
      import { appendFileSync } from 'node:fs'
      import { systemClock } from '${new URL('../../base/clock.ts', import.meta.url)}'
      import { silentLogger } from '${new URL('../../base/logger.ts', import.meta.url)}'
      import { openTestDatabase } from '${new URL('../../../test/support/open-test-database.ts', import.meta.url)}'
      import { createEmbeddingJob } from '${new URL('./embed-memories.ts', import.meta.url)}'
      const clock = systemClock()
      const database = await openTestDatabase({ ...${JSON.stringify(await sameDatabase(folder))}, clock })
      const embedder = {
        model: 'b/1',
        dimensions: 2,
        async embed(texts) {
          await new Promise((resolve) => setTimeout(resolve, 20))
          appendFileSync(${JSON.stringify(log)}, texts.map((text) => text + '\\n').join(''))
          return texts.map((text) => Float32Array.of(text.length, 1))
        },
        close: async () => undefined,
      }
      const embeddingText = (memory) => memory.content
      const job = createEmbeddingJob({ database, embedder, olderEmbedder: () => undefined, clock, logger: silentLogger, embeddingText })
      setInterval(() => {}, 1000)
      job.wake()`
    const child = spawn(process.execPath, ['--input-type=module', '-e', program], { stdio: 'ignore' })
    while ((await readFile(log, 'utf8')).split('\n').length < 66) await new Promise((resolve) => setTimeout(resolve, 5))
    child.kill('SIGKILL')
    await once(child, 'exit')
    await open()
    const before = await modelsOfVectors()
    expect(before['a/1']).toBe(200)
    expect(before['b/1']).toBeGreaterThan(0)
    expect(before['b/1']).toBeLessThan(200)

    const written = (await vectors()).filter((row) => row.model === 'b/1').map((row) => row.text_hash)
    const fresh = createTestEmbedder('b/1')
    const job = startJob(fresh.embedder, { olderEmbedder: () => createTestEmbedder('a/1').embedder })
    expect(await job.searchModel('max')).toBe('a/1')
    await catchUp(job)
    expect(fresh.texts).toHaveLength(200 - written.length)
    expect(new Set(fresh.texts).size).toBe(fresh.texts.length)
    expect(await modelsOfVectors()).toEqual({ 'b/1': 200 })
    expect(await job.searchModel('max')).toBe('b/1')
  })
})
