import { Worker } from 'node:worker_threads'
import { FamiliarError } from '../../../protocol/error.ts'
import type { FinderAnswer, FinderRequest, FinderThreadData, FoundFiles } from './finder-messages.ts'

/** The thread that knows the files of one root. It keeps the process alive only while a question waits. */
export interface FinderThread {
  readonly isIdle: boolean
  /** Rejects with the signal's reason as soon as that aborts. */
  find(request: { query: string; limit: number }, signal: AbortSignal | undefined): Promise<FoundFiles>
  /** Resolves when all that lies on the disk now is known. */
  refresh(): Promise<void>
  /** Whatever still waits is rejected. */
  end(): Promise<void>
}

/** `onEnd` is called once, whether it was ended or died. */
export function startFinderThread(data: FinderThreadData, onEnd: () => void): FinderThread {
  const worker = new Worker(new URL('./finder-worker.ts', import.meta.url), { workerData: data })
  const waiting = new Map<number, PromiseWithResolvers<FoundFiles>>()
  let lastId = 0
  let death = new FamiliarError('unavailable', 'The finder of files has ended.')
  worker.unref()

  worker.on('message', ({ id, ...found }: FinderAnswer) => {
    waiting.get(id)?.resolve(found)
    settle(id)
  })
  worker.on('error', (cause) => {
    death = new FamiliarError('internal', `The finder of files broke off: ${(cause as Error).message}`, { cause })
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

  async function ask(
    request: { kind: 'find'; query: string; limit: number } | { kind: 'refresh' },
    signal: AbortSignal | undefined,
  ): Promise<FoundFiles> {
    signal?.throwIfAborted()
    lastId += 1
    const id = lastId
    const asked = Promise.withResolvers<FoundFiles>()
    const onAbort = () => {
      asked.reject(signal?.reason)
      settle(id)
    }
    waiting.set(id, asked)
    worker.ref()
    worker.postMessage({ id, ...request } satisfies FinderRequest)
    signal?.addEventListener('abort', onAbort, { once: true })
    try {
      return await asked.promise
    } finally {
      signal?.removeEventListener('abort', onAbort)
    }
  }

  return {
    get isIdle() {
      return waiting.size === 0
    },
    find: (request, signal) => ask({ kind: 'find', ...request }, signal),
    async refresh() {
      await ask({ kind: 'refresh' }, undefined)
    },
    async end() {
      await worker.terminate()
      await ended
    },
  }
}
