import { parentPort, type Worker } from 'node:worker_threads'
import type { Clock } from '../../base/clock.ts'
import { type AskedThread, askThread } from '../../base/processes.ts'
import { type ErrorCode, FamiliarError } from '../../protocol/errors.ts'
import type { VectorMatch, VectorSearch } from '../database.ts'
import type { StoredVectors, VectorQuestion } from './stored-vectors.ts'

export const defaultVectorLimits = {
  idleMs: 5 * 60_000,
  /** Memory limit for all vectors. Those of the current question are kept in any case. */
  memoryBytes: 256 * 1024 * 1024,
  /** Up to this many vectors of a user are compared exactly. Above it, a coarse pass selects candidates. */
  exactLimit: 100_000,
}
export type ThreadLimits = Partial<typeof defaultVectorLimits>

/**
 * Searches in a worker thread that holds the vectors in memory. The first search starts it. After `idleMs` without a
 * question it is stopped, and the next search starts another; the same happens when it dies.
 */
export function createThreadedVectorSearch(options: {
  startWorker(): Worker
  clock: Clock
  idleMs: number
}): Pick<VectorSearch, 'search' | 'close'> {
  const { startWorker, clock, idleMs } = options
  let thread: AskedThread<Omit<VectorRequest, 'id'>, VectorMatch[]> | undefined
  let cancelRest: (() => void) | undefined
  /** Settles when every stopped thread has released the database. */
  let allEnded: Promise<unknown> = Promise.resolve()
  let isClosed = false

  function start() {
    const started = askThread<Omit<VectorRequest, 'id'>, VectorAnswer, VectorMatch[]>({
      worker: startWorker(),
      name: 'The vector search',
      read({ matches, failure }) {
        if (failure) throw new FamiliarError(failure.code, failure.message)
        return matches ?? []
      },
      onEnd() {
        if (thread === started) thread = undefined
      },
    })
    return started
  }

  function restWhenIdle(): void {
    if (!thread?.isIdle || isClosed) return
    cancelRest?.()
    cancelRest = clock.after(idleMs, letGo)
  }

  function letGo(): void {
    allEnded = Promise.all([allEnded, thread?.end()])
    thread = undefined
  }

  return {
    async search({ signal, userId, model, vector, limit }) {
      signal?.throwIfAborted()
      if (isClosed) throw new FamiliarError('unavailable', 'The vector search is closed.')
      cancelRest?.()
      thread ??= start()
      try {
        // A copy of the vector: a view of a larger buffer would transfer the whole buffer.
        return await thread.ask({ question: { userId, model, vector: vector.slice(), limit } }, signal)
      } finally {
        restWhenIdle()
      }
    },
    async close() {
      isClosed = true
      cancelRest?.()
      letGo()
      await allEnded
    },
  }
}

/**
 * Body of the thread that `startWorker` starts: answers one question after another. `toError` converts errors of the
 * engine.
 */
export function answerVectorQuestions(stored: StoredVectors, toError: (thrown: unknown) => unknown): void {
  let before: Promise<unknown> = Promise.resolve()
  parentPort?.on('message', ({ id, question }: VectorRequest) => {
    before = before.then(async () => {
      parentPort?.postMessage({ id, ...(await answer(question)) } satisfies VectorAnswer)
    })
  })

  async function answer(question: VectorRequest['question']): Promise<Omit<VectorAnswer, 'id'>> {
    try {
      return { matches: await stored.search(question) }
    } catch (thrown) {
      const error = toError(thrown)
      if (error instanceof FamiliarError) return { failure: { code: error.code, message: error.message } }
      return { failure: { code: 'internal', message: `The vector search failed: ${(error as Error).message}` } }
    }
  }
}

interface VectorRequest {
  id: number
  question: VectorQuestion
}

interface VectorAnswer {
  id: number
  matches?: VectorMatch[]
  failure?: { code: ErrorCode; message: string }
}

export interface VectorRow {
  /** The place in `memory_vectors`. Never reused. */
  place: number
  number: number
  /** In the format of `toVectorBytes`. */
  vector: Uint8Array
}

/** The source of the vectors in memory. One question at a time. */
export interface VectorSource {
  /** From the beginning. */
  follow(userId: string, model: string): VectorFollower
  /** The places that still hold a vector. */
  present(places: readonly number[]): Promise<ReadonlySet<number>>
  /** By their places. Deleted ones are omitted. */
  read(places: readonly number[]): Promise<ReadonlyMap<number, Uint8Array>>
  close(): Promise<void>
}

export interface VectorFollower {
  /** Vectors committed since the last call, in pages, each once. Deletions are not reported. */
  newer(): AsyncIterable<readonly VectorRow[]>
}
