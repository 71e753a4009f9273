import { watch } from 'node:fs'
import { lstat, statfs } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/logger.ts'
import { type FileIndex, isInside } from './index-files.ts'
import { describeFileError, hasTextExtension } from './walk-files.ts'

/**
 * Keeps the index up to date as files change. Problems are in the status and the log; nothing here rejects or throws.
 * Without changes no timer runs.
 */
export type FileWatch = ReturnType<typeof createFileWatch>

type Followed = ReturnType<typeof newFollowed>

/** Changes come in bursts. */
const settleMs = 500
/** After a long check comes a longer pause, up to a limit. */
const restFactor = 10
const maxRestMs = 30_000
const lookAgainMs = 60_000
const maxFolders = 4_000

export function createFileWatch(dependencies: { index: FileIndex; clock: Clock; logger: Logger; watch?: WatchFolder }) {
  const { index, clock, logger, watch = watchFolder } = dependencies
  const users = new Map<string, Followed>()
  const stopping = new AbortController()

  return {
    /** Syncs, and then follows the user's roots. Called at the start and whenever the roots have changed. */
    async follow(userId: string): Promise<void> {
      if (stopping.signal.aborted) return
      const followed = users.get(userId) ?? newFollowed()
      users.set(userId, followed)
      followed.lost.clear()
      // A running sync may have read the roots before they changed.
      await followed.running
      await run(userId, followed)
    },

    /** Called before memories are recalled: if not everything can be watched, it starts a sync, at most once a minute. */
    lookAgain(userId: string): void {
      const followed = users.get(userId)
      if (!followed?.problem || clock.now() - followed.syncedAt < lookAgainMs) return
      void run(userId, followed)
    },

    /** `looking`: not everything can be watched, so the disk is checked when memories are recalled. */
    status(userId: string) {
      const { watchers, problem, failure } = users.get(userId) ?? newFollowed()
      const watched = watchers.size > 0 ? ('watching' as const) : ('off' as const)
      const mode = problem ? ('looking' as const) : watched
      return { mode, problem, failure, report: index.lastReport(userId) }
    },

    /** Stops a running sync. Nothing is watched when it resolves. */
    async close(): Promise<void> {
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
      logger.warn('could not index files', { error })
    }
    followed.syncedAt = clock.now()
    followed.tookMs = followed.syncedAt - startedAt
  }

  async function watchAll(userId: string, followed: Followed): Promise<void> {
    const roots = (await index.roots(userId)).map((root) => root.path)
    followed.roots = new Set(roots)
    followed.folders = new Set(index.folders(userId))
    // The parent folder reports when the root itself is added or removed.
    const wanted = new Set([...roots.map((root) => dirname(root)), ...followed.folders])
    followed.problem = undefined
    for (const [folder, watcher] of followed.watchers) if (!wanted.has(folder)) drop(followed, folder, watcher)
    for (const root of roots) if (await isRemote(root)) followed.problem = `${root} is on a network drive`
    if (wanted.size > maxFolders) followed.problem = `there are more than ${maxFolders} folders`
    let hasNew = false
    for (const folder of [...wanted].slice(0, maxFolders)) {
      if (!followed.watchers.has(folder)) hasNew = start(folder) || hasNew
    }
    // Something may have changed between the scan of a folder and its watch.
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
    // A folder that returns under the name of a watched one is a different one, which the old watch does not see.
    for (const [inner, watcher] of isRename && path ? followed.watchers : []) {
      if (path && isInside(path, inner)) drop(followed, inner, watcher)
    }
    if (await matters(followed, change)) schedule(userId, followed)
  }

  function schedule(userId: string, followed: Followed): void {
    if (stopping.signal.aborted) return
    const delay = Math.max(settleMs, Math.min(maxRestMs, followed.tookMs * restFactor))
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

/** Photos, downloads and editors' own files change constantly. */
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

function newFollowed() {
  return {
    watchers: new Map<string, { close(): void }>(),
    roots: new Set<string>(),
    folders: new Set<string>(),
    /** Folders whose watch failed; retried with the next `follow`. */
    lost: new Set<string>(),
    /** Why not everything can be watched. */
    problem: undefined as string | undefined,
    /** Why the last sync failed, if it did. */
    failure: undefined as string | undefined,
    cancelTimer: undefined as (() => void) | undefined,
    running: undefined as Promise<void> | undefined,
    /** When the last sync ended, and how long it took. */
    syncedAt: 0,
    tookMs: 0,
  }
}

/** Reports every change of a name in one folder, not below it. Throws if the system cannot watch it. */
export type WatchFolder = (
  folder: string,
  listeners: {
    /** The name is null if the system does not report it; a rename is also an added or removed name. */
    onChange(name: string | null, isRename: boolean): void
    onError(error: Error): void
  },
) => { close(): void }

/**
 * One folder at a time: Node's recursive mode watches every single file on Linux, including hidden and package folders,
 * and runs out of watches where this does not.
 */
export const watchFolder: WatchFolder = (folder, { onChange, onError }) => {
  const watcher = watch(folder, { persistent: false }, (event, name) => onChange(name, event === 'rename'))
  watcher.on('error', onError)
  return watcher
}

export async function isFolder(path: string): Promise<boolean> {
  const found = await lstat(path).catch(() => undefined)
  return found?.isDirectory() === true
}

// NFS, SMB (three of them), 9P, FUSE: remote changes cause no event here. Linux numbers.
const remote = new Set([0x6969, 0x517b, 0xff534d42, 0xfe534d42, 0x01021997, 0x65735546])

async function isRemote(path: string): Promise<boolean> {
  const found = await statfs(path).catch(() => undefined)
  return found !== undefined && remote.has(found.type)
}
