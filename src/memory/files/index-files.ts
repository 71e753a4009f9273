import type { Clock } from '../../base/clock.ts'
import type { Database } from '../../storage/database.ts'
import type { Memories } from '../memories.ts'
import { type FilePlace, isInside, shownPath } from './cite-file.ts'
import { type AddedRoot, createFileRoots, type FileRoot } from './file-roots.ts'
import { filesOf, type SyncOptions, type SyncReport, syncFiles } from './sync-files.ts'
import { usualLimits, type WalkLimits } from './walk-files.ts'
import { removeFile } from './write-passages.ts'

/**
 * Text files as memories: each passage of them is a memory of kind `chunk`, found by the same recall as all others. The
 * files stay where they are and are never written.
 *
 * What the disk does (a file without permission, a folder that is gone) is in the report and makes nothing fail. Only the
 * database can make a call reject.
 */
export interface FileIndex {
  /** A file or folder by its whole path. Takes effect with the next `sync`. */
  addRoot(userId: string, path: string): Promise<AddedRoot>
  /** With all passages of its files. False where it was none, or belongs to the workspace. */
  removeRoot(userId: string, path: string): Promise<boolean>
  /** With how many files of each are indexed. */
  roots(userId: string): Promise<(FileRoot & { files: number })[]>
  /** Brings the index up to what is on the disk, reading only what changed. One at a time for each user. */
  sync(userId: string, options?: SyncOptions): Promise<SyncReport>
  /** What the last `sync` since the start reported. */
  lastReport(userId: string): SyncReport | undefined
  /** The folders that the last `sync` went through. */
  folders(userId: string): readonly string[]
  /** Where the memories stand that are passages of files; the others are left out. */
  fileOf(userId: string, memoryIds: readonly string[]): Promise<Map<string, FilePlace>>
}

export function createFileIndex(dependencies: {
  database: Database
  memories: Memories
  clock: Clock
  /** Its MEMORY.md and memory/ are indexed for every owner. */
  workspace: string
  limits?: WalkLimits
}): FileIndex {
  const { database, workspace, limits = usualLimits } = dependencies
  const roots = createFileRoots(dependencies)
  const reports = new Map<string, SyncReport>()
  const folders = new Map<string, readonly string[]>()
  const turns = new Map<string, Promise<unknown>>()

  return {
    addRoot: roots.add,

    removeRoot: (userId, path) =>
      inTurn(userId, async () => {
        if (!(await roots.remove(userId, path))) return false
        const left = await roots.list(userId)
        for (const file of await filesOf(database, userId)) {
          if (!left.some((root) => isInside(root.path, file.path))) await removeFile(dependencies, file)
        }
        return true
      }),

    async roots(userId) {
      const files = await filesOf(database, userId)
      return (await roots.list(userId)).map((root) => ({
        ...root,
        files: files.filter((file) => file.root === root.path).length,
      }))
    },

    sync: (userId, options = {}) =>
      inTurn(userId, async () => {
        const synced = await syncFiles(
          { ...dependencies, limits },
          { userId, roots: await roots.list(userId), ...options },
        )
        reports.set(userId, synced.report)
        folders.set(userId, synced.folders)
        return synced.report
      }),

    lastReport: (userId) => reports.get(userId),
    folders: (userId) => folders.get(userId) ?? [],

    async fileOf(userId, memoryIds) {
      if (memoryIds.length === 0) return new Map()
      const rows = await database.read
        .selectFrom('chunks')
        .innerJoin('memory_files', 'memory_files.id', 'chunks.file_id')
        .select(['chunks.id', 'chunks.first_line', 'chunks.last_line', 'memory_files.root', 'memory_files.path'])
        .where('chunks.user_id', '=', userId)
        .where('chunks.id', 'in', memoryIds)
        .execute()
      return new Map(
        rows.map(({ id, root, path, first_line, last_line }) => [
          id,
          { path: shownPath({ root, path, workspace }), file: path, firstLine: first_line, lastLine: last_line },
        ]),
      )
    },
  }

  /** Two at once would each write what the other is about to. */
  function inTurn<T>(userId: string, task: () => Promise<T>): Promise<T> {
    const turn = (turns.get(userId) ?? Promise.resolve()).then(task)
    turns.set(
      userId,
      turn.catch(() => undefined),
    )
    return turn
  }
}
