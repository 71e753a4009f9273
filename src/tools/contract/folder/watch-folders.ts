import { join } from 'node:path'
import type { Clock } from '../../../base/clock.ts'
import type { Logger } from '../../../base/logger.ts'
import { type WatchFolder, watchFolder } from '../../../memory/files/watch-folder.ts'

/** Each with the one name in it that matters, or null for all of them. */
export type WatchedFolders = ReadonlyMap<string, string | null>

/**
 * Tells that something has changed in one of a set of folders, once for a burst of changes. Nothing runs while nothing
 * changes. A folder that cannot be watched is logged and passed over.
 */
export interface FoldersWatch {
  /**
   * From now on these, and no others; where a folder stands with a name, only what happens to that name in it. True where
   * one is new: it may have changed before its watch began.
   */
  follow(folders: WatchedFolders): boolean
  close(): void
}

/** Editors write a file in several steps. */
const settleMs = 200

export function createFoldersWatch(dependencies: {
  onChange(): void
  clock: Clock
  logger: Logger
  watch?: WatchFolder | undefined
}): FoldersWatch {
  const { onChange, clock, logger, watch = watchFolder } = dependencies
  const watchers = new Map<string, { close(): void }>()
  let wanted: WatchedFolders = new Map()
  let cancelTimer: (() => void) | undefined
  let isClosed = false

  function begin(folder: string): boolean {
    try {
      const watcher = watch(folder, {
        onChange(name, isRename) {
          if (name !== null && !matters(name, wanted.get(folder))) return
          // What comes back under the name of a watched folder is another one, which the old watch does not see.
          if (isRename && name !== null) drop(join(folder, name))
          schedule()
        },
        onError(error) {
          logger.warn('a folder of tools is watched no more', { folder, error })
          drop(folder)
          schedule()
        },
      })
      watchers.set(folder, watcher)
      return true
    } catch (error) {
      logger.warn('a folder of tools cannot be watched', { folder, error })
      return false
    }
  }

  function drop(folder: string): void {
    for (const [watched, watcher] of watchers) {
      if (watched !== folder && !watched.startsWith(`${folder}/`)) continue
      watcher.close()
      watchers.delete(watched)
    }
  }

  function schedule(): void {
    if (isClosed) return
    cancelTimer ??= clock.after(settleMs, () => {
      cancelTimer = undefined
      onChange()
    })
  }

  return {
    follow(folders) {
      if (isClosed) return false
      wanted = folders
      for (const [watched, watcher] of watchers) {
        if (folders.has(watched)) continue
        watcher.close()
        watchers.delete(watched)
      }
      return [...folders.keys()]
        .filter((folder) => !watchers.has(folder))
        .map(begin)
        .some(Boolean)
    },
    close() {
      isClosed = true
      cancelTimer?.()
      for (const watcher of watchers.values()) watcher.close()
      watchers.clear()
    },
  }
}

/** Editors and whoever writes whole files keep their drafts under hidden names. */
function matters(name: string, only: string | null | undefined): boolean {
  return only == null ? !name.startsWith('.') : name === only
}
