import { Worker } from 'node:worker_threads'
import { type ErrorCode, FamiliarError } from '../../../protocol/error.ts'
import type { VectorMatch } from '../../vector-search.ts'
import type { VectorMemory, VectorQuestion } from './stored-vectors.ts'

export interface VectorWorkerData extends VectorMemory {
  path: string
}

export interface VectorRequest {
  id: number
  question: VectorQuestion
}

export interface VectorAnswer {
  id: number
  matches?: VectorMatch[]
  failure?: { code: ErrorCode; message: string }
}

/** The thread that searches. It keeps the process alive only while a question waits. */
export interface VectorThread {
  readonly isIdle: boolean
  /** In the order of the calls. Rejects with the signal's reason as soon as that aborts. */
  ask(question: VectorQuestion, signal: AbortSignal | undefined): Promise<VectorMatch[]>
  /** Whatever still waits is rejected. Resolves when the thread has let go of the database. */
  end(): Promise<void>
}

/** `onEnd` is called once, whether it was ended or died. */
export function startVectorThread(data: VectorWorkerData, onEnd: () => void): VectorThread {
  const worker = new Worker(new URL('./vector-worker.ts', import.meta.url), { workerData: data })
  const waiting = new Map<number, PromiseWithResolvers<VectorMatch[]>>()
  let lastId = 0
  let death = new FamiliarError('unavailable', 'The search by meaning has ended.')

  worker.on('message', ({ id, matches, failure }: VectorAnswer) => {
    const asked = waiting.get(id)
    if (failure) asked?.reject(new FamiliarError(failure.code, failure.message))
    else asked?.resolve(matches ?? [])
    settle(id)
  })
  worker.on('error', (cause) => {
    death = new FamiliarError('internal', `The search by meaning broke off: ${(cause as Error).message}`, { cause })
  })
  const ended = new Promise<void>((resolve) => {
    worker.on('exit', () => {
      for (const asked of waiting.values()) asked.reject(death)
      waiting.clear()
      onEnd()
      resolve()
    })
  })

  function settle(id: number): void {
    waiting.delete(id)
    if (waiting.size === 0) worker.unref()
  }

  return {
    get isIdle() {
      return waiting.size === 0
    },
    async ask(question, signal) {
      lastId += 1
      const id = lastId
      const asked = Promise.withResolvers<VectorMatch[]>()
      const onAbort = () => {
        asked.reject(signal?.reason)
        settle(id)
      }
      waiting.set(id, asked)
      worker.ref()
      // A copy of the vector: one that is part of a larger buffer would take all of that along.
      const copy = { ...question, vector: question.vector.slice() }
      worker.postMessage({ id, question: copy } satisfies VectorRequest)
      signal?.addEventListener('abort', onAbort, { once: true })
      try {
        return await asked.promise
      } finally {
        signal?.removeEventListener('abort', onAbort)
      }
    },
    async end() {
      await worker.terminate()
      await ended
    },
  }
}
