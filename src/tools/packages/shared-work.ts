import { untilAborted } from '../mcp/until-aborted.ts'

interface Work<T> {
  result: Promise<T>
  waiting: number
  ending: AbortController
}

/** Work by key that is done once for all who ask for it at the same time. Nobody who leaves takes it from the others. */
type SharedWork<T> = (key: string, signal: AbortSignal, begin: (signal: AbortSignal) => Promise<T>) => Promise<T>

/** The work ends when the last one has left; whoever asks then begins anew. */
export function createSharedWork<T>(): SharedWork<T> {
  const underWay = new Map<string, Work<T>>()

  function start(key: string, begin: (signal: AbortSignal) => Promise<T>): Work<T> {
    const ending = new AbortController()
    const work: Work<T> = { result: begin(ending.signal).finally(() => forget(key, work)), waiting: 0, ending }
    underWay.set(key, work)
    return work
  }

  function forget(key: string, work: Work<T>): void {
    if (underWay.get(key) === work) underWay.delete(key)
  }

  return async (key, signal, begin) => {
    signal.throwIfAborted()
    const work = underWay.get(key) ?? start(key, begin)
    work.waiting += 1
    try {
      return await untilAborted(work.result, signal)
    } finally {
      work.waiting -= 1
      if (work.waiting === 0) {
        forget(key, work)
        work.ending.abort()
      }
    }
  }
}
