import { Worker } from 'node:worker_threads'
import type { Clock } from '../../../base/clock.ts'
import type { Logger } from '../../../base/logger.ts'
import { FamiliarError } from '../../../protocol/error.ts'
import type { VectorMatch, VectorSearch } from '../../vector-search.ts'
import type { VectorQuestion } from '../../vectors/stored-vectors.ts'
import { createThreadedVectorSearch, type ThreadLimits, usualLimits } from '../../vectors/threaded-vector-search.ts'
import { toStorageError } from '../postgres-error.ts'
import type { PostgresPools } from '../postgres-pools.ts'
import { fewestForIndex, readFigures, type VectorFigures } from './vectors/choose-hnsw.ts'
import { buildHnswIndex, describeHnswIndex } from './vectors/hnsw-index.ts'
import { searchHnsw } from './vectors/hnsw-search.ts'
import { findPgvector, type Pgvector } from './vectors/pgvector.ts'
import type { VectorWorkerData } from './vectors/vector-worker.ts'

export interface PostgresVectorSearchOptions extends ThreadLimits {
  pools: PostgresPools
  url: string
  clock: Clock
  log?: Pick<Logger, 'info' | 'warn'> | undefined
  /** A user's vectors are compared one by one up to so many, even where pgvector is there. */
  indexFrom?: number
  /** Whether a question waits for an index that has to be built, for tests and benches. Otherwise it is compared one by one. */
  awaitsIndex?: boolean
}

const figuresAgeMs = 60_000

/**
 * Compares a user's vectors one by one in the memory of a thread; where pgvector is there, an index over all of a model's
 * vectors serves those who have very many. It is built behind their first question.
 */
export function createPostgresVectorSearch(options: PostgresVectorSearchOptions): VectorSearch {
  const { pools, url, clock, log, indexFrom = 10_000, awaitsIndex = false } = options
  const { idleMs, memoryBytes, exactLimit } = { ...usualLimits, ...options }
  const workerData: VectorWorkerData = { url, place: pools.place, memoryBytes, exactLimit }
  const thread = createThreadedVectorSearch({
    startWorker: () => new Worker(new URL('./vectors/vector-worker.ts', import.meta.url), { workerData }),
    clock,
    idleMs,
  })
  const builds = new Map<string, Promise<void>>()
  /** When a build of an index came to its end, well or not: the next one is not tried at once. */
  const tried = new Map<string, number>()
  const known = new Map<string, { figures: VectorFigures | undefined; at: number }>()
  let pgvector: Promise<Pgvector> | undefined
  let isClosed = false

  function findExtension(): Promise<Pgvector> {
    pgvector ??= pools.writing.use(findPgvector).catch((error) => {
      pgvector = undefined
      throw error
    })
    return pgvector
  }

  async function figuresOf({ userId, model, limit }: VectorQuestion): Promise<VectorFigures | undefined> {
    const key = JSON.stringify([userId, model])
    const before = known.get(key)
    if (before && clock.now() - before.at < figuresAgeMs && !awaitsIndex) return before.figures
    const figures = await pools.reading.use((client) =>
      readFigures(client, { userId, model, limit, exactLimit: indexFrom }),
    )
    if (known.size > 10_000) known.clear()
    known.set(key, { figures, at: clock.now() })
    return figures
  }

  /**
   * How many matches the index must find at least, or undefined where it is not there or not worth it. Has it built where
   * it is worth it and not there.
   */
  async function expectedOfIndex(question: VectorQuestion): Promise<number | undefined> {
    const { model, vector, limit } = question
    if (limit < 1 || !vector.every(Number.isFinite) || vector.every((value) => value === 0)) return undefined
    if (!(await findExtension()).isUsable) return undefined
    const figures = await figuresOf(question)
    if (!figures || figures.dimensions !== vector.length || figures.own <= indexFrom) return undefined
    if (!awaitsIndex && figures.own < fewestForIndex(figures.all, limit)) return undefined
    if (!figures.hasIndex) {
      const built = build(model, vector.length)
      if (!awaitsIndex) return undefined
      await built
    }
    return Math.min(limit, figures.own)
  }

  function build(model: string, dimensions: number): Promise<void> {
    const index = describeHnswIndex(model, dimensions)
    const running = builds.get(index.name)
    if (running) return running
    const isTooSoon = clock.now() - (tried.get(index.name) ?? Number.NEGATIVE_INFINITY) < figuresAgeMs
    if (isClosed || isTooSoon) return Promise.resolve()
    const built = buildHnswIndex(url, index)
      .then((isOurs) => {
        if (isOurs) log?.info('an index of vectors was built', { model })
        known.clear()
      })
      .catch((error: unknown) => {
        const { message } = toStorageError(error, pools.place) as Error
        log?.warn('an index of vectors could not be built', { model, problem: message })
      })
      .finally(() => {
        builds.delete(index.name)
        tried.set(index.name, clock.now())
      })
    builds.set(index.name, built)
    return built
  }

  async function search(question: VectorQuestion, signal: AbortSignal | undefined): Promise<VectorMatch[]> {
    const expected = await expectedOfIndex(question)
    if (expected !== undefined) {
      const matches = await searchHnsw(pools.reading, question)
      // Fewer where the user's are too far apart among everybody's.
      if (matches.length >= expected) return matches
    }
    return thread.search({ ...question, ...(signal && { signal }) })
  }

  return {
    async search({ signal, ...question }) {
      signal?.throwIfAborted()
      if (isClosed) throw closed()
      try {
        return await orAborted(search(question, signal), signal)
      } catch (error) {
        if (signal?.aborted) throw signal.reason
        throw isClosed ? closed() : toStorageError(error, pools.place)
      }
    },
    async describe() {
      const found = await findExtension()
      if (!found.isUsable) return `exact scan in memory (${found.why})`
      return `pgvector ${found.version} (HNSW from ${indexFrom} vectors of a user on, exact scan below)`
    },
    async close() {
      isClosed = true
      await thread.close()
    },
  }
}

function closed(): FamiliarError {
  return new FamiliarError('unavailable', 'The search by meaning is closed.')
}

async function orAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return work
  const aborted = Promise.withResolvers<never>()
  const onAbort = () => aborted.reject(signal.reason)
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    return await Promise.race([work, aborted.promise])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}
