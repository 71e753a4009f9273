import type { Worker } from 'node:worker_threads'
import type { Clock } from '../../base/clock.ts'
import { FamiliarError } from '../../protocol/error.ts'
import type { VectorSearch } from '../vector-search.ts'
import { startVectorThread, type VectorThread } from './vector-thread.ts'

export interface ThreadLimits {
  idleMs?: number
  /** What the vectors may take. The largest set of a user is kept even where it is larger. */
  memoryBytes?: number
  /** A user's vectors are compared whole up to so many. Where there are more, a rough look chooses which. */
  exactLimit?: number
}

export const usualLimits = { idleMs: 5 * 60_000, memoryBytes: 256 * 1024 * 1024, exactLimit: 100_000 }

/**
 * Searches in a thread of its own, with the vectors in that thread's memory. The first search starts it; when nothing was
 * asked for `idleMs` it is let go with all that it holds, and the next search starts another. So it is when it dies.
 */
export function createThreadedVectorSearch(options: {
  startWorker(): Worker
  clock: Clock
  idleMs: number
}): Pick<VectorSearch, 'search' | 'close'> {
  const { startWorker, clock, idleMs } = options
  let thread: VectorThread | undefined
  let cancelRest: (() => void) | undefined
  /** Settles when every thread that was let go has let go of the database. */
  let allEnded: Promise<unknown> = Promise.resolve()
  let isClosed = false

  function start(): VectorThread {
    const started = startVectorThread(startWorker(), () => {
      if (thread === started) thread = undefined
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
      if (isClosed) throw new FamiliarError('unavailable', 'The search by meaning is closed.')
      cancelRest?.()
      thread ??= start()
      try {
        return await thread.ask({ userId, model, vector, limit }, signal)
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
