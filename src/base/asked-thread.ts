import type { Worker } from 'node:worker_threads'
import { FamiliarError } from '../protocol/error.ts'

/** Questions to a worker thread, each with its own answer. It keeps the process alive only while a question waits. */
export interface AskedThread<Question, Answer> {
  readonly isIdle: boolean
  /** In the order of the calls. Rejects with the signal's reason as soon as that aborts. */
  ask(question: Question, signal: AbortSignal | undefined): Promise<Answer>
  /** Whatever still waits is rejected. Resolves when the thread is gone. */
  end(): Promise<void>
}

/**
 * The thread is sent `{ id, ...question }` and answers with the same `id`; `read` makes of that what was asked for, or throws
 * what the asker shall hear. `name` stands in what those hear who still wait when it ends; `onEnd` is called once, whether
 * it was ended or died.
 */
export function askThread<Question extends object, Told extends { id: number }, Answer>(options: {
  worker: Worker
  name: string
  read(told: Told): Answer
  onEnd(): void
}): AskedThread<Question, Answer> {
  const { worker, name, read, onEnd } = options
  const waiting = new Map<number, PromiseWithResolvers<Answer>>()
  let lastId = 0
  let death = new FamiliarError('unavailable', `${name} has ended.`)
  worker.unref()

  worker.on('message', (told: Told) => {
    const asked = waiting.get(told.id)
    try {
      asked?.resolve(read(told))
    } catch (cause) {
      asked?.reject(cause)
    }
    settle(told.id)
  })
  worker.on('error', (cause) => {
    death = new FamiliarError('internal', `${name} broke off: ${(cause as Error).message}`, { cause })
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
      signal?.throwIfAborted()
      lastId += 1
      const id = lastId
      const asked = Promise.withResolvers<Answer>()
      const onAbort = () => {
        asked.reject(signal?.reason)
        settle(id)
      }
      waiting.set(id, asked)
      worker.ref()
      worker.postMessage({ id, ...question })
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
