import { setImmediate } from 'node:timers/promises'
import { type SelectQueryBuilder, type SqlBool, sql } from 'kysely'
import type { z } from 'zod'
import { type Clock, sleep } from '../../base/clock.ts'
import type { Logger } from '../../base/logger.ts'
import type { memoryStatsReplySchema } from '../../protocol/memory.ts'
import { type Database, type Reader, toVectorBytes } from '../../storage/database.ts'
import type { Tables } from '../../storage/tables.ts'
import { contentHash, type Memory, memoryFromRow } from '../memory.ts'
import { notePassages } from '../note-passages.ts'
import type { Embedder } from './embedders.ts'

/** `problem` is why it makes no progress; null while it does. */
export type EmbeddingStatus = NonNullable<z.infer<typeof memoryStatsReplySchema>['embedding']>

/**
 * Embeds every memory in the background. Work lost in a crash is done after the next `wake`: existing vectors are never
 * computed again. Code that changes a memory's text deletes its vectors in the same unit.
 */
export type EmbeddingJob = ReturnType<typeof createEmbeddingJob>

const batchSize = 32
/** How many numbers one query reads: it takes some milliseconds, whatever there is. */
const windowSize = 2_000
const sweepPauseMs = 60_000
const firstBackoffMs = 1_000
const maxBackoffMs = 5 * 60_000

/** A model that every new memory is embedded with, and its progress. */
interface Lane {
  embedder: Embedder
  tail: number
}

export function createEmbeddingJob(dependencies: {
  database: Database
  embedder: Embedder
  /** Earlier models that are still available, by id. */
  olderEmbedder: (model: string) => Embedder | undefined
  clock: Clock
  logger: Logger
  embeddingText: EmbeddingText
}) {
  const { database, embedder, olderEmbedder, clock, logger, embeddingText } = dependencies
  const { model } = embedder
  const stop = new AbortController()
  let started: ReturnType<typeof begin> | undefined
  /** By user and model, counted incrementally, so that no question counts a million vectors. */
  const counts = new Map<string, Map<string, number>>()
  /** Every memory up to `until` is checked for a missing vector. */
  let sweep: { after: number; until: number } | undefined
  let lastSweepAt = Number.NEGATIVE_INFINITY
  /** All memories have had a vector of this model once. */
  let isComplete = false
  let isWanted = false
  let running: Promise<void> | undefined
  let problem: string | null = null
  let failures = 0
  let cancelLater = () => {}

  async function begin() {
    const tail = await newestNumber(database.read)
    sweep = { after: 0, until: tail }
    const older = (await modelsInUse(database.read)).filter((used) => used !== model)
    const olderLanes = older.flatMap((used) => {
      const found = olderEmbedder(used)
      return found ? [{ embedder: found, tail }] : []
    })
    const models = [model, ...olderLanes.map((lane) => lane.embedder.model)]
    return { lane: { embedder, tail }, olderLanes, models }
  }

  /** A failed start is retried. */
  function ensureStarted() {
    started ??= begin().catch((cause) => {
      started = undefined
      throw cause
    })
    return started
  }

  async function run(): Promise<void> {
    try {
      while (isWanted && !stop.signal.aborted) {
        isWanted = false
        try {
          await catchUp()
          problem = null
          failures = 0
        } catch (cause) {
          await backOff(cause)
        }
      }
    } finally {
      // In the same tick as the last check of `isWanted`, so that no wake is lost.
      running = undefined
    }
  }

  /**
   * For waiting callers: the pause's timer does not keep the program alive, so waiting for it would end the program.
   */
  let failed = Promise.withResolvers<void>()

  async function backOff(cause: unknown): Promise<void> {
    if (stop.signal.aborted) return
    failed.resolve()
    failed = Promise.withResolvers<void>()
    const words = wordsOf(cause)
    if (words !== problem) logger.warn('could not embed memories; recall uses words only', { model, error: words })
    problem = words
    isWanted = true
    const waitMs = Math.min(maxBackoffMs, firstBackoffMs * 2 ** failures)
    failures += 1
    await sleep(clock, waitMs, stop.signal).catch(() => undefined)
  }

  async function catchUp(): Promise<void> {
    const isNew = await embedNew()
    if (!isNew) planSweep()
    while (sweep && !stop.signal.aborted) {
      await sweepOn(sweep)
      await embedNew()
    }
    while (isComplete && !stop.signal.aborted && (await dropOtherModels(database, model))) await setImmediate()
  }

  /** A wake with nothing new means that an old memory lost its vector. */
  function planSweep(): void {
    if (sweep) return
    const waitMs = lastSweepAt + sweepPauseMs - clock.now()
    cancelLater()
    if (waitMs > 0) cancelLater = clock.after(waitMs, wake)
    else sweep = { after: 0, until: Number.POSITIVE_INFINITY }
  }

  async function embedNew(): Promise<boolean> {
    const { lane, olderLanes } = await ensureStarted()
    let isNew = false
    for (let isMore = true; isMore && !stop.signal.aborted; isNew ||= isMore) {
      const newest = await newestNumber(database.read)
      // First the models that are searched now.
      for (const older of isComplete ? [] : [...olderLanes]) {
        await embedTail(older, newest).catch((cause) => {
          if (stop.signal.aborted) return
          // New memories are then found only by words until the new model has taken over.
          olderLanes.splice(olderLanes.indexOf(older), 1)
          const lost = { model: older.embedder.model, error: wordsOf(cause) }
          logger.warn('the previous embedding model is not available', lost)
        })
      }
      isMore = await embedTail(lane, newest)
    }
    return isNew
  }

  async function embedTail(lane: Lane, newest: number): Promise<boolean> {
    if (newest <= lane.tail) return false
    lane.tail = await embedRange(lane.embedder, lane.tail, newest)
    return true
  }

  async function sweepOn(range: { after: number; until: number }): Promise<void> {
    const end = Math.min(range.until, await newestNumber(database.read))
    range.after = await embedRange(embedder, range.after, Math.min(range.after + windowSize, end))
    if (range.after >= end) {
      sweep = undefined
      isComplete = true
      lastSweepAt = clock.now()
    }
    await setImmediate()
  }

  /** Embeds the first batch of the memories after one number until another. Returns up to where it is done. */
  async function embedRange(used: Embedder, after: number, until: number): Promise<number> {
    const memories = await findMissing(database.read, { model: used.model, after, until })
    const last = memories.at(-1)
    if (!last) return until
    const written = await embedBatch({ database, embedder: used, embeddingText, memories, signal: stop.signal })
    for (const { userId } of written) {
      const vectors = counts.get(userId)
      vectors?.set(used.model, (vectors.get(used.model) ?? 0) + 1)
    }
    // The others changed meanwhile: they are checked again.
    if (written.length < memories.length) wake()
    return memories.length < batchSize ? until : last.number
  }

  function wake(): void {
    if (stop.signal.aborted) return
    isWanted = true
    running ??= run()
  }

  return {
    /** Called after memories were added or changed, and once at the start. The newest are embedded first. */
    wake,

    /**
     * The model for a user's question: the current one, unless a previous one that is still available has more of the
     * user's memories.
     */
    async searchModel(userId: string): Promise<string> {
      const { models } = await ensureStarted()
      if (isComplete || models.length === 1) return model
      const count = async (used: string) => [used, await countVectors(database.read, used, userId)] as const
      const vectors = counts.get(userId) ?? new Map(await Promise.all(models.map(count)))
      counts.set(userId, vectors)
      // The sort is stable: at a tie the new one wins.
      return models.toSorted((a, b) => (vectors.get(b) ?? 0) - (vectors.get(a) ?? 0))[0] ?? model
    },

    async status(userId?: string): Promise<EmbeddingStatus> {
      const [embedded, total] = await Promise.all([
        countVectors(database.read, model, userId),
        countRows(database.read.selectFrom('memories'), userId),
      ])
      return { model, embedded, total, isRunning: running !== undefined, problem }
    },

    /** Waits until the current work is done, at most so long; not if it fails. */
    async settle(graceMs: number): Promise<void> {
      if (!running || problem !== null) return
      const enough = new AbortController()
      await Promise.race([running, failed.promise, sleep(clock, graceMs, enough.signal).catch(() => undefined)])
      enough.abort()
    },

    /** Stops in the middle; nothing is partially written. */
    async close(): Promise<void> {
      stop.abort()
      cancelLater()
      await running
    },
  }
}

function wordsOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause)
}

async function newestNumber(reader: Reader): Promise<number> {
  const { newest } = await reader
    .selectFrom('memories')
    .select(({ fn }) => fn.max('number').as('newest'))
    .executeTakeFirstOrThrow()
  return Number(newest ?? 0)
}

/** Memories of all users without a vector of the model, by number. Reads at most `until - after` rows. */
async function findMissing(reader: Reader, range: { model: string; after: number; until: number }): Promise<Memory[]> {
  const rows = await reader
    .selectFrom('memories')
    .selectAll()
    .where('number', '>', range.after)
    .where('number', '<=', range.until)
    // A number belongs to one user: filtering by user too would read the row instead of just its key.
    .where(
      sql<SqlBool>`not exists (
        select number from memory_vectors where model = ${range.model} and memory_vectors.number = memories.number)`,
    )
    .orderBy('number')
    .limit(batchSize)
    .execute()
  return rows.map(memoryFromRow)
}

/** Every model with a vector: one index step each, however many vectors there are. */
async function modelsInUse(reader: Reader): Promise<string[]> {
  const models: string[] = []
  for (;;) {
    const next = await reader
      .selectFrom('memory_vectors')
      .select('model')
      .where('model', '>', models.at(-1) ?? '')
      .orderBy('model')
      .limit(1)
      .executeTakeFirst()
    if (!next) return models
    models.push(next.model)
  }
}

function countVectors(reader: Reader, model: string, userId?: string): Promise<number> {
  // A long text has several, and counts once.
  const vectors = reader.selectFrom('memory_vectors').where('model', '=', model).where('part', '=', 0)
  return countRows(vectors, userId)
}

async function countRows<Table extends 'memories' | 'memory_vectors'>(
  rows: SelectQueryBuilder<Tables, Table, object>,
  userId?: string,
): Promise<number> {
  const own = userId === undefined ? rows : rows.where(sql.ref('user_id'), '=', userId)
  const { count } = await own.select(({ fn }) => fn.countAll().as('count')).executeTakeFirstOrThrow()
  return Number(count)
}

const maxRows = 500

/** Deletes some of the vectors of other models. False when there are none left. */
async function dropOtherModels(database: Database, current: string): Promise<boolean> {
  const model = (await modelsInUse(database.read)).find((used) => used !== current)
  if (model === undefined) return false
  const rows = await database.read
    .selectFrom('memory_vectors')
    .select(['user_id', 'place'])
    .where('model', '=', model)
    .orderBy('user_id')
    .orderBy('place')
    .limit(maxRows)
    .execute()
  await database.write(async (writer) => {
    for (const [userId, own] of Map.groupBy(rows, (row) => row.user_id)) {
      await writer
        .deleteFrom('memory_vectors')
        .where('model', '=', model)
        .where('user_id', '=', userId)
        .where('place', '<=', own.at(-1)?.place ?? 0)
        .execute()
    }
  })
  return true
}

/** The text of a memory that is embedded, as the ranking defines it. The same memory must always give the same text. */
export type EmbeddingText = (memory: Memory) => string | Promise<string>

/** Engines limit the number of values in a statement. */
const rowsAtOnce = 500

interface Entry {
  memory: Memory
  part: number
  text: string
  textHash: string
}

/**
 * Embeds memories in one write unit. A text for which the user already has a vector is not embedded again. Memories
 * that changed or were forgotten meanwhile are skipped: returns those that have their vector now.
 */
async function embedBatch(options: {
  database: Database
  embedder: Embedder
  embeddingText: EmbeddingText
  memories: readonly Memory[]
  signal: AbortSignal
}): Promise<Memory[]> {
  const { database, embedder, embeddingText, memories, signal } = options
  const entries: Entry[] = []
  for (const memory of memories) {
    for (const [part, content] of notePassages(memory.content).entries()) {
      const text = await embeddingText({ ...memory, content })
      entries.push({ memory, part, text, textHash: contentHash(text) })
    }
  }
  const vectors = await knownVectors(database.read, embedder.model, entries)
  const unknown = new Map(
    entries.filter((entry) => !vectors.has(keyOf(entry))).map(({ textHash, text }) => [textHash, text]),
  )
  const texts = [...unknown.values()]
  const embedded: (Float32Array | undefined)[] = []
  for (let from = 0; from < texts.length; from += batchSize) {
    embedded.push(...(await embedder.embed(texts.slice(from, from + batchSize), 'memory', signal)))
  }
  const byHash = new Map([...unknown.keys()].map((hash, index) => [hash, embedded[index]]))
  // All passages of a text or none: the first one marks it as done.
  const byMemory = Map.groupBy(entries, ({ memory }) => memory.number)
  const rows = [...byMemory.values()].flatMap((own) => {
    const withVectors = own.flatMap((entry) => {
      const fresh = byHash.get(entry.textHash)
      const vector = vectors.get(keyOf(entry)) ?? (fresh && toVectorBytes(fresh))
      return vector ? [{ ...entry, vector }] : []
    })
    return withVectors.length === own.length ? withVectors : []
  })

  return database.write(async (writer) => {
    const now = await writer
      .selectFrom('memories')
      .select(['number', 'content_hash', 'updated_at'])
      .where('number', 'in', [...new Set(rows.map(({ memory }) => memory.number))])
      .execute()
    const current = new Map(now.map((row) => [Number(row.number), row]))
    const unchanged = rows.filter(({ memory }) => {
      const row = current.get(memory.number)
      return row?.content_hash === contentHash(memory.content) && Number(row.updated_at) === memory.updatedAt
    })
    if (unchanged.length === 0) return []
    const vectorRows = unchanged.map(({ memory, part, textHash, vector }) => ({
      number: memory.number,
      part,
      user_id: memory.userId,
      model: embedder.model,
      text_hash: textHash,
      vector,
    }))
    for (let from = 0; from < vectorRows.length; from += rowsAtOnce) {
      await writer
        .insertInto('memory_vectors')
        .values(vectorRows.slice(from, from + rowsAtOnce))
        .onConflict((conflict) => conflict.doNothing())
        .execute()
    }
    return [...new Set(unchanged.map(({ memory }) => memory))]
  })
}

/** The texts that each user already has. */
async function knownVectors(
  reader: Reader,
  model: string,
  entries: readonly Entry[],
): Promise<Map<string, Uint8Array>> {
  const known = new Map<string, Uint8Array>()
  for (const [userId, own] of Map.groupBy(entries, ({ memory }) => memory.userId)) {
    const hashes = [...new Set(own.map(({ textHash }) => textHash))]
    for (let from = 0; from < hashes.length; from += rowsAtOnce) {
      const rows = await reader
        .selectFrom('memory_vectors')
        .select(['text_hash', 'vector'])
        .where('text_hash', 'in', hashes.slice(from, from + rowsAtOnce))
        // Wrapped in a function: otherwise SQLite would use the index of all the user's vectors, a million per text,
        // instead of the hash's.
        .where(({ eb, fn, val }) => eb(fn.coalesce('user_id', val('')), '=', userId))
        .where(({ eb, fn, val }) => eb(fn.coalesce('model', val('')), '=', model))
        .execute()
      for (const { text_hash, vector } of rows) known.set(`${userId} ${text_hash}`, vector)
    }
  }
  return known
}

function keyOf({ memory, textHash }: Entry): string {
  return `${memory.userId} ${textHash}`
}
