import { dirname, join } from 'node:path'
import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/logger.ts'
import { isInside } from './cite-file.ts'
import type { FileIndex } from './index-files.ts'
import type { SyncReport } from './sync-files.ts'
import { hasTextExtension } from './text-format.ts'
import { describeFileError } from './walk-files.ts'
import { isFolder, isRemote, type WatchFolder, watchFolder } from './watch-folder.ts'

interface FileWatchStatus {
  /** `looking`: not everything can be watched, so the disk is looked at when memories are asked for. */
  mode: 'off' | 'watching' | 'looking'
  /** Why not everything can be watched. */
  problem: string | undefined
  /** Why the last sync failed, where it did. */
  failure: string | undefined
  report: SyncReport | undefined
}

/**
 * Keeps the index up to date as files change. Problems are in the status and in the log; nothing here rejects or throws.
 * Where nothing changes no timer runs.
 */
export interface FileWatch {
  /** Syncs, and from then on follows the user's roots. To be called at the start and whenever the roots have changed. */
  follow(userId: string): Promise<void>
  /** Before memories are recalled: where not everything can be watched it starts a sync, at most once a minute. */
  lookAgain(userId: string): void
  status(userId: string): FileWatchStatus
  /** Stops a sync under way. Nothing is watched when it resolves. */
  close(): Promise<void>
}

interface Followed {
  watchers: Map<string, { close(): void }>
  roots: ReadonlySet<string>
  /** All that lies under the roots. */
  folders: ReadonlySet<string>
  /** What the system did not watch to the end; tried again with the next `follow`. */
  lost: Set<string>
  problem: string | undefined
  failure: string | undefined
  cancelTimer: (() => void) | undefined
  running: Promise<void> | undefined
  /** When the last sync ended, and how long it took. */
  syncedAt: number
  tookMs: number
}

/** Changes come in bursts. */
const settleMs = 500
/** After a long look at the disk comes a longer rest, but none that anybody would wait for. */
const restFactor = 10
const longestRestMs = 30_000
const lookAgainMs = 60_000
const mostFolders = 4_000

export function createFileWatch(dependencies: {
  index: FileIndex
  clock: Clock
  logger: Logger
  watch?: WatchFolder
}): FileWatch {
  const { index, clock, logger, watch = watchFolder } = dependencies
  const users = new Map<string, Followed>()
  const stopping = new AbortController()

  return {
    async follow(userId) {
      if (stopping.signal.aborted) return
      const followed = users.get(userId) ?? newFollowed()
      users.set(userId, followed)
      followed.lost.clear()
      // One that is under way may have read the roots before they changed.
      await followed.running
      await run(userId, followed)
    },

    lookAgain(userId) {
      const followed = users.get(userId)
      if (!followed?.problem || clock.now() - followed.syncedAt < lookAgainMs) return
      void run(userId, followed)
    },

    status(userId) {
      const { watchers, problem, failure } = users.get(userId) ?? newFollowed()
      const mode = problem ? 'looking' : watchers.size > 0 ? 'watching' : 'off'
      return { mode, problem, failure, report: index.lastReport(userId) }
    },

    async close() {
      stopping.abort()
      for (const followed of users.values()) {
        followed.cancelTimer?.()
        await followed.running
        for (const watcher of followed.watchers.values()) watcher.close()
        followed.watchers.clear()
      }
    },
  }

  function run(userId: string, followed: Followed): Promise<void> {
    followed.running ??= syncAndWatch(userId, followed).finally(() => {
      followed.running = undefined
    })
    return followed.running
  }

  async function runNext(userId: string, followed: Followed): Promise<void> {
    await followed.running
    if (!stopping.signal.aborted) await run(userId, followed)
  }

  async function syncAndWatch(userId: string, followed: Followed): Promise<void> {
    followed.cancelTimer?.()
    followed.cancelTimer = undefined
    const startedAt = clock.now()
    try {
      await index.sync(userId, { signal: stopping.signal })
      followed.failure = undefined
      if (!stopping.signal.aborted) await watchAll(userId, followed)
    } catch (error) {
      followed.failure = error instanceof Error ? error.message : String(error)
      logger.warn('files could not be indexed', { error })
    }
    followed.syncedAt = clock.now()
    followed.tookMs = followed.syncedAt - startedAt
  }

  async function watchAll(userId: string, followed: Followed): Promise<void> {
    const roots = (await index.roots(userId)).map((root) => root.path)
    followed.roots = new Set(roots)
    followed.folders = new Set(index.folders(userId))
    // The folder around a root tells when the root itself comes or goes.
    const wanted = new Set([...roots.map((root) => dirname(root)), ...followed.folders])
    followed.problem = undefined
    for (const [folder, watcher] of followed.watchers) if (!wanted.has(folder)) drop(followed, folder, watcher)
    for (const root of roots) if (await isRemote(root)) followed.problem = `${root} is on a network drive`
    if (wanted.size > mostFolders) followed.problem = `there are more than ${mostFolders} folders`
    let hasNew = false
    for (const folder of [...wanted].slice(0, mostFolders)) {
      if (!followed.watchers.has(folder)) hasNew = start(folder) || hasNew
    }
    // Between the look at a folder and its watch something may have changed.
    if (hasNew) schedule(userId, followed)

    function start(folder: string): boolean {
      if (followed.lost.has(folder)) return lose(folder, 'it could not be watched')
      try {
        const watcher = watch(folder, {
          onChange: (name, isRename) => void noteChange(userId, followed, { folder, name, isRename }),
          onError(error) {
            drop(followed, folder, watcher)
            followed.lost.add(folder)
            lose(folder, describeFileError(error).message)
            schedule(userId, followed)
          },
        })
        followed.watchers.set(folder, watcher)
        return true
      } catch (error) {
        return lose(folder, describeFileError(error).message)
      }
    }

    function lose(folder: string, message: string): false {
      followed.problem = `${folder} cannot be watched: ${message}`
      return false
    }
  }

  async function noteChange(userId: string, followed: Followed, change: NameChange): Promise<void> {
    const { folder, name, isRename } = change
    const path = name === null ? undefined : join(folder, name)
    // What comes back under the name of a watched folder is another one, which the old watch does not see.
    for (const [inner, watcher] of isRename && path ? followed.watchers : []) {
      if (path && isInside(path, inner)) drop(followed, inner, watcher)
    }
    if (await matters(followed, change)) schedule(userId, followed)
  }

  function schedule(userId: string, followed: Followed): void {
    if (stopping.signal.aborted) return
    const delay = Math.max(settleMs, Math.min(longestRestMs, followed.tookMs * restFactor))
    followed.cancelTimer ??= clock.after(delay, () => {
      followed.cancelTimer = undefined
      // A change during a sync may have come too late for it.
      void runNext(userId, followed)
    })
  }
}

interface NameChange {
  folder: string
  name: string | null
  isRename: boolean
}

/** Photographs, downloads and editors' own files come and go without end. */
async function matters({ roots, folders }: Followed, { folder, name }: NameChange): Promise<boolean> {
  if (name === null) return true
  const path = join(folder, name)
  if (roots.has(path)) return true
  if (!folders.has(folder) || name.startsWith('.') || name === 'node_modules') return false
  return hasTextExtension(name) || folders.has(path) || (await isFolder(path))
}

function drop(followed: Followed, folder: string, watcher: { close(): void }): void {
  watcher.close()
  followed.watchers.delete(folder)
}

function newFollowed(): Followed {
  return {
    watchers: new Map(),
    roots: new Set(),
    folders: new Set(),
    lost: new Set(),
    problem: undefined,
    failure: undefined,
    cancelTimer: undefined,
    running: undefined,
    syncedAt: 0,
    tookMs: 0,
  }
}
