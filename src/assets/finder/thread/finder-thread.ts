import { Worker } from 'node:worker_threads'
import { askThread } from '../../../base/asked-thread.ts'
import type { FinderAnswer, FinderQuestion, FinderThreadData, FoundFiles } from './finder-messages.ts'

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
  const thread = askThread<FinderQuestion, FinderAnswer, FoundFiles>({
    worker: new Worker(new URL('./finder-worker.ts', import.meta.url), { workerData: data }),
    name: 'The finder of files',
    read: ({ id: _id, ...found }) => found,
    onEnd,
  })
  return {
    get isIdle() {
      return thread.isIdle
    },
    find: (request, signal) => thread.ask({ kind: 'find', ...request }, signal),
    async refresh() {
      await thread.ask({ kind: 'refresh' }, undefined)
    },
    end: thread.end,
  }
}
