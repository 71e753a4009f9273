import type { Clock } from '../../base/clock.ts'
import { createFileFinder, type FileFinder } from './create-file-finder.ts'
import { findBlocks } from './find-blocks.ts'
import type { Finding } from './finding.ts'

export interface FinderQuestion {
  userId: string
  kind: 'file' | 'block'
  query: string
  limit: number
  signal?: AbortSignal | undefined
}

/** What `@` and `@@` offer while somebody types. */
export interface Finders {
  find(question: FinderQuestion): Promise<Finding>
  close(): Promise<void>
}

/** Users with the same roots share what is known of them; whoever has none finds no file. */
export function createFinders(dependencies: {
  /** The folders that this user may read files of, the workspace first. */
  rootsOf(userId: string): readonly string[]
  /** Folders that are closed to everybody, also below a root; a root below one of them is open. */
  closed: readonly string[]
  /** The labels of this user's blocks. */
  labelsOf(userId: string): Promise<readonly string[]>
  clock: Clock
}): Finders {
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
    async find({ userId, kind, query, limit, signal }) {
      if (kind === 'block') return findBlocks(await labelsOf(userId), { query, limit })
      return filesOf(userId).find({ query, limit, signal })
    },
    async close() {
      await Promise.all([...finders.values()].map((finder) => finder.close()))
    },
  }
}
