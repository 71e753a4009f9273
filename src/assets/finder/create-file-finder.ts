import type { Clock } from '../../base/clock.ts'
import { FamiliarError } from '../../protocol/error.ts'
import type { Finding, Found } from './finding.ts'
import { referenceTo } from './reference-to.ts'
import { type FinderThread, startFinderThread } from './thread/finder-thread.ts'

/**
 * Finds files under some roots by a few letters of their paths. The first root is where plain paths begin.
 *
 * Everything is done in a thread of its own for each root, which begins with the first question and ends when nobody
 * has asked for a while: what nobody uses costs nothing, and who asks never keeps the others waiting.
 */
export interface FileFinder {
  find(request: { query: string; limit: number; signal?: AbortSignal | undefined }): Promise<Finding>
  /** Resolves when all that lies on the disk now is known. Files that change are noticed without it, a little later. */
  refresh(): Promise<void>
  close(): Promise<void>
}

const idleMs = 10 * 60_000
const usualMostFiles = 1_000_000

export function createFileFinder(options: {
  roots: readonly string[]
  /** Folders of which nothing is shown where they lie below a root. A root below one of them is shown. */
  closed: readonly string[]
  clock: Clock
  /** Of each root. */
  mostFiles?: number
}): FileFinder {
  const { roots, closed, clock, mostFiles = usualMostFiles } = options
  const threads = new Map<string, FinderThread>()
  let cancelTimer: (() => void) | undefined
  let isClosed = false

  function threadOf(root: string): FinderThread {
    const known = threads.get(root)
    if (known) return known
    if (isClosed) throw new FamiliarError('unavailable', 'The finder of files has ended.')
    const started: FinderThread = startFinderThread({ root, closed, mostFiles }, () => {
      if (threads.get(root) === started) threads.delete(root)
    })
    threads.set(root, started)
    return started
  }

  function rest(): void {
    cancelTimer?.()
    cancelTimer = clock.after(idleMs, () => {
      for (const thread of threads.values()) if (thread.isIdle) void thread.end()
    })
  }

  return {
    async find({ query, limit, signal }) {
      rest()
      const answers = await Promise.all(
        roots.map(async (root) => ({ root, answer: await threadOf(root).find({ query, limit }, signal) })),
      )
      const matches = answers.flatMap(({ root, answer }) => answer.matches.map((match) => ({ root, ...match })))
      if (answers.length > 1) matches.sort((a, b) => b.score - a.score || a.path.length - b.path.length)
      return {
        found: matches.slice(0, limit).map(({ root, path }) => foundIn(root, path)),
        total: answers.reduce((sum, { answer }) => sum + answer.total, 0),
        isIndexing: answers.some(({ answer }) => answer.isIndexing),
        isCut: answers.some(({ answer }) => answer.isCut),
      }
    },
    async refresh() {
      await Promise.all(roots.map((root) => threadOf(root).refresh()))
    },
    async close() {
      isClosed = true
      cancelTimer?.()
      await Promise.all([...threads.values()].map((thread) => thread.end()))
    },
  }

  function foundIn(root: string, name: string): Found {
    return { name, reference: referenceTo('file', root === roots[0] ? name : `${root}/${name}`) }
  }
}
