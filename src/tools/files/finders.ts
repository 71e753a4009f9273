import { Worker } from 'node:worker_threads'
import type { Clock } from '../../base/clock.ts'
import { type AskedThread, askThread } from '../../base/processes.ts'
import { FamiliarError } from '../../protocol/errors.ts'
import {
  createPathSearch,
  createPathStore,
  type FinderAnswer,
  type FinderTask,
  type FinderThreadData,
  type FoundFiles,
} from './fuzzy-search.ts'

interface Finding extends Omit<FoundFiles, 'matches'> {
  /** Best first. `name`: a file's path from its root, or a block's label. `reference`: as in a message. */
  found: { name: string; reference: string }[]
}

/** The reference for a message: quoted if it would end too early. */
export function referenceTo(kind: 'file' | 'block', path: string): string {
  const sign = kind === 'file' ? '@' : '@@'
  const isPlain = /^[\p{L}\p{N}_./-]*[\p{L}\p{N}_/-]$/u.test(path)
  if (isPlain) return `${sign}${path}`
  const quote = path.includes('"') ? "'" : '"'
  return `${sign}${quote}${path}${quote}`
}

/**
 * Finds files under some roots by a few letters of their paths. The first root is the base of plain paths.
 *
 * Each root has its own thread, which starts with the first question and stops when idle: unused roots cost nothing,
 * and questions do not block the process.
 */
export type FileFinder = ReturnType<typeof createFileFinder>

const idleMs = 10 * 60_000
const usualMostFiles = 1_000_000

export function createFileFinder(options: {
  roots: readonly string[]
  /** Folders that are not shown even below a root. A root below one of them is shown. */
  closed: readonly string[]
  clock: Clock
  maxFiles?: number
}) {
  const { roots, closed, clock, maxFiles = usualMostFiles } = options
  const threads = new Map<string, AskedThread<FinderTask, FoundFiles>>()
  let cancelTimer: (() => void) | undefined
  let isClosed = false

  function threadOf(root: string): AskedThread<FinderTask, FoundFiles> {
    const known = threads.get(root)
    if (known) return known
    if (isClosed) throw new FamiliarError('unavailable', 'The file finder has stopped.')
    const workerData: FinderThreadData = { root, closed, maxFiles }
    const started: AskedThread<FinderTask, FoundFiles> = askThread<FinderTask, FinderAnswer, FoundFiles>({
      worker: new Worker(new URL('./finder-worker.ts', import.meta.url), { workerData }),
      name: 'The file finder',
      read: ({ id: _id, ...found }) => found,
      onEnd() {
        if (threads.get(root) === started) threads.delete(root)
      },
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
    async find({ query, limit, signal }: Pick<FinderQuestion, 'query' | 'limit' | 'signal'>): Promise<Finding> {
      rest()
      const answers = await Promise.all(
        roots.map(async (root) => ({ root, answer: await threadOf(root).ask({ kind: 'find', query, limit }, signal) })),
      )
      const matches = answers.flatMap(({ root, answer }) => answer.matches.map((match) => ({ root, ...match })))
      if (answers.length > 1) matches.sort((a, b) => b.score - a.score || a.path.length - b.path.length)
      return {
        found: matches.slice(0, limit).map(({ root, path }) => ({
          name: path,
          reference: referenceTo('file', root === roots[0] ? path : `${root}/${path}`),
        })),
        total: answers.reduce((sum, { answer }) => sum + answer.total, 0),
        isIndexing: answers.some(({ answer }) => answer.isIndexing),
        isCut: answers.some(({ answer }) => answer.isCut),
      }
    },
    /** Resolves when the current state of the disk is known. Changes are also noticed without it, with a delay. */
    async refresh(): Promise<void> {
      await Promise.all(roots.map((root) => threadOf(root).ask({ kind: 'refresh' }, undefined)))
    },
    async close(): Promise<void> {
      isClosed = true
      cancelTimer?.()
      await Promise.all([...threads.values()].map((thread) => thread.end()))
    },
  }
}

/** The matching labels. There are never so many that an index would pay off. */
export function findBlocks(labels: readonly string[], { query, limit }: { query: string; limit: number }): Finding {
  const store = createPathStore()
  for (const label of labels) store.add(label)
  const { matches, total } = createPathSearch(store).search(query, limit)
  const found = matches.map(({ path }) => ({ name: path, reference: referenceTo('block', path) }))
  return { found, total, isIndexing: false, isCut: false }
}

export interface FinderQuestion {
  userId: string
  kind: 'file' | 'block'
  query: string
  limit: number
  signal?: AbortSignal | undefined
}

/** The suggestions for `@` and `@@` while typing. */
export type Finders = ReturnType<typeof createFinders>

/** Users with the same roots share an index; a user without roots finds no files. */
export function createFinders(dependencies: {
  /** The folders that this user may read, the workspace first. */
  rootsOf(userId: string): readonly string[]
  /** Folders that are closed to all users, also below a root; a root below one of them is open. */
  closed: readonly string[]
  labelsOf(userId: string): Promise<readonly string[]>
  clock: Clock
}) {
  const { rootsOf, closed, labelsOf, clock } = dependencies
  const finders = new Map<string, FileFinder>()

  function filesOf(userId: string): FileFinder {
    const roots = rootsOf(userId)
    const key = roots.join('\0')
    const finder = finders.get(key) ?? createFileFinder({ roots, closed, clock })
    finders.set(key, finder)
    return finder
  }

  return {
    async find({ userId, kind, query, limit, signal }: FinderQuestion): Promise<Finding> {
      if (kind === 'block') return findBlocks(await labelsOf(userId), { query, limit })
      return filesOf(userId).find({ query, limit, signal })
    },
    async close(): Promise<void> {
      await Promise.all([...finders.values()].map((finder) => finder.close()))
    },
  }
}
