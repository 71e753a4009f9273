import { type Clock, sleep } from '../../base/clock.ts'
import type { Logger } from '../../base/logger.ts'
import type { Database } from '../../storage/database.ts'
import type { Memory } from '../memory.ts'
import { dropOtherModels } from './drop-other-models.ts'
import { type EmbeddingText, embedBatch } from './embed-batch.ts'
import type { Embedder } from './embedder.ts'
import { countMemories, countVectors, findMissing, modelsInUse, newestNumber } from './missing-vectors.ts'
import { createSearchModel, type SearchModel } from './search-model.ts'

export interface EmbeddingStatus {
  model: string
  embedded: number
  total: number
  isRunning: boolean
  /** Why it does not come on, in words; null while it does. */
  problem: string | null
}

/**
 * Gives every memory its vector, in the background. Whatever a crash left undone is done after the next `wake`: what has
 * its vector is never embedded again. Whoever changes the text of a memory deletes its vectors in the same unit.
 */
export interface EmbeddingJob {
  /** After memories were added or changed, and once at the start. Returns at once; the newest are embedded first. */
  wake(): void
  /**
   * The model to ask a user's question with: the current one, but while it takes over from another one that has more of
   * the user's memories and is still at hand, that other one.
   */
  searchModel(userId: string): Promise<string>
  /** Of one user, or of all. */
  status(userId?: string): Promise<EmbeddingStatus>
  /** Waits until what is under way is done, at most so long; not where it fails. */
  settle(graceMs: number): Promise<void>
  /** Stops in the middle; nothing is half written. */
  close(): Promise<void>
}

const batchSize = 32
/** How many numbers one question to the database looks at: some milliseconds, whatever there is. */
const windowSize = 2_000
const sweepPauseMs = 60_000
const firstBackoffMs = 1_000
const longestBackoffMs = 5 * 60_000

/** A model that every new memory is embedded with, and how far that has come. */
interface Lane {
  embedder: Embedder
  tail: number
}

export function createEmbeddingJob(dependencies: {
  database: Database
  embedder: Embedder
  /** Models of before that can still be asked, by their ids. */
  olderEmbedder: (model: string) => Embedder | undefined
  clock: Clock
  logger: Logger
  embeddingText: EmbeddingText
}): EmbeddingJob {
  const { database, embedder, olderEmbedder, clock, logger, embeddingText } = dependencies
  const { model } = embedder
  const stop = new AbortController()
  let started: Promise<{ lane: Lane; olderLanes: Lane[]; searched: SearchModel }> | undefined
  /** Every memory up to `until` is looked at for a vector that is missing. */
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
    const reachable = olderLanes.map((lane) => lane.embedder.model)
    return {
      lane: { embedder, tail },
      olderLanes,
      searched: createSearchModel({ database, current: model, older: reachable }),
    }
  }

  /** A start that failed is tried again. */
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
        await catchUp().then(noteSuccess, backOff)
      }
    } finally {
      // In the same breath as the last look at `isWanted`: a wake is never lost in between.
      running = undefined
    }
  }

  function noteSuccess(): void {
    problem = null
    failures = 0
  }

  /** For whoever waits: a pause keeps no program alive, so waiting it out would end the program instead. */
  let failed = Promise.withResolvers<void>()

  async function backOff(cause: unknown): Promise<void> {
    if (stop.signal.aborted) return
    failed.resolve()
    failed = Promise.withResolvers<void>()
    const words = wordsOf(cause)
    if (words !== problem) logger.warn('memories are not embedded, recall goes by words', { model, error: words })
    problem = words
    isWanted = true
    const waitMs = Math.min(longestBackoffMs, firstBackoffMs * 2 ** failures)
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
    while (isComplete && !stop.signal.aborted && (await dropOtherModels(database, model))) await turn()
  }

  /** A wake with nothing new means that something old has lost its vector. */
  function planSweep(): void {
    if (sweep) return
    const waitMs = lastSweepAt + sweepPauseMs - clock.now()
    cancelLater()
    if (waitMs > 0) cancelLater = clock.after(waitMs, wake)
    else sweep = { after: 0, until: Number.POSITIVE_INFINITY }
  }

  /** True if there was anything. */
  async function embedNew(): Promise<boolean> {
    const { lane, olderLanes } = await ensureStarted()
    let isNew = false
    for (let isMore = true; isMore && !stop.signal.aborted; isNew ||= isMore) {
      const newest = await newestNumber(database.read)
      // First those that are searched at this moment.
      if (!isComplete)
        for (const older of [...olderLanes]) await embedTail(older, newest).catch(leaveLane(olderLanes, older))
      isMore = await embedTail(lane, newest)
    }
    return isNew
  }

  async function embedTail(lane: Lane, newest: number): Promise<boolean> {
    if (newest <= lane.tail) return false
    const found = await find(lane.embedder, lane.tail, newest)
    await embed(lane.embedder, found)
    lane.tail = endOf(found, newest)
    return true
  }

  async function sweepOn(range: { after: number; until: number }): Promise<void> {
    const end = Math.min(range.until, await newestNumber(database.read))
    const until = Math.min(range.after + windowSize, end)
    const found = await find(embedder, range.after, until)
    await embed(embedder, found)
    range.after = endOf(found, until)
    if (range.after >= end) {
      sweep = undefined
      isComplete = true
      lastSweepAt = clock.now()
    }
    await turn()
  }

  function find({ model: wanted }: Embedder, after: number, until: number): Promise<Memory[]> {
    return findMissing(database.read, { model: wanted, after, until, limit: batchSize })
  }

  async function embed(used: Embedder, memories: readonly Memory[]): Promise<void> {
    if (memories.length === 0) return
    const { searched } = await ensureStarted()
    const written = await embedBatch({ database, embedder: used, embeddingText, memories, signal: stop.signal })
    for (const { userId } of written) searched.written(userId, used.model, 1)
    // The others changed under our hands: they are looked at once more.
    if (written.length < memories.length) wake()
  }

  /** New memories are then not found by meaning until the new model has taken over; by words they are. */
  function leaveLane(lanes: Lane[], lane: Lane): (cause: unknown) => void {
    return (cause) => {
      if (stop.signal.aborted) return
      lanes.splice(lanes.indexOf(lane), 1)
      logger.warn('the embedding model of before is gone', { model: lane.embedder.model, error: wordsOf(cause) })
    }
  }

  function wake(): void {
    if (stop.signal.aborted) return
    isWanted = true
    running ??= run()
  }

  return {
    wake,
    async searchModel(userId) {
      const { searched } = await ensureStarted()
      return isComplete ? model : searched.of(userId)
    },
    async status(userId) {
      const [embedded, total] = await Promise.all([
        countVectors(database.read, model, userId),
        countMemories(database.read, userId),
      ])
      return { model, embedded, total, isRunning: running !== undefined, problem }
    },
    async settle(graceMs) {
      if (!running || problem !== null) return
      const enough = new AbortController()
      await Promise.race([running, failed.promise, sleep(clock, graceMs, enough.signal).catch(() => undefined)])
      enough.abort()
    },
    async close() {
      stop.abort()
      cancelLater()
      await running
    },
  }
}

/** Up to where everything is done: a full batch may have left some behind it. */
function endOf(found: readonly Memory[], until: number): number {
  return found.length < batchSize ? until : (found.at(-1)?.number ?? until)
}

function wordsOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause)
}

/** Lets everything else that waits go first. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
