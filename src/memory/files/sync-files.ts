import { basename, extname } from 'node:path'
import { type Clock, sleep } from '../../base/clock.ts'
import { sha256 } from '../../base/hash.ts'
import type { Database } from '../../storage/database.ts'
import type { MemoryFileRow } from '../../storage/tables.ts'
import type { Memories } from '../memories.ts'
import { chunkText } from './chunk-text.ts'
import { isInside } from './cite-file.ts'
import { decodeText } from './decode-text.ts'
import type { FileRoot } from './file-roots.ts'
import { quietMs, readQuietFile } from './read-quiet-file.ts'
import { addSkipped, type SkippedFiles } from './skipped-files.ts'
import { formatOf } from './text-format.ts'
import { type FoundFile, type RootState, type Walk, type WalkLimits, walkFiles } from './walk-files.ts'
import { removeFile, saveFile, writePassages } from './write-passages.ts'

interface SyncProgress {
  done: number
  total: number
  path: string
}

export interface SyncReport {
  /** False where it was stopped: the next one goes on. */
  isFinished: boolean
  /** How many files there are, and what became of them this time. */
  files: number
  added: number
  changed: number
  removed: number
  passages: { added: number; removed: number }
  roots: (FileRoot & RootState)[]
  skipped: SkippedFiles
}

export interface SyncOptions {
  signal?: AbortSignal | undefined
  onProgress?: ((progress: SyncProgress) => void) | undefined
}

/** A file that is written without a pause is left for the next time after so many looks. */
const mostLooks = 5
/** A file can change again within the tick of a coarse file system: a time that close proves nothing. */
const coarseMs = 2_000

/** Makes one user's index what is on the disk. What is known of a folder that cannot be looked into stays. */
export async function syncFiles(
  dependencies: { database: Database; memories: Memories; clock: Clock; workspace: string; limits: WalkLimits },
  { userId, roots, signal, onProgress }: { userId: string; roots: readonly FileRoot[] } & SyncOptions,
): Promise<{ report: SyncReport; folders: readonly string[] }> {
  const { database, clock, workspace, limits } = dependencies
  const report: SyncReport = {
    isFinished: false,
    files: 0,
    added: 0,
    changed: 0,
    removed: 0,
    passages: { added: 0, removed: 0 },
    roots: [],
    skipped: { counts: {}, examples: [] },
  }
  const known = new Map((await filesOf(database, userId)).map((file) => [file.path, file]))
  let folders: readonly string[] = []
  try {
    const paths = roots.map((root) => root.path)
    const walk = await walkFiles(paths, { limits, signal })
    folders = walk.folders
    report.skipped = walk.skipped
    report.roots = roots.map((root) => ({ ...root, ...(walk.roots.get(root.path) ?? { state: 'missing' }) }))
    await takeAll(walk)
    await removeVanished(walk)
    report.files = walk.files.size
    report.isFinished = true
  } catch (error) {
    if (!signal?.aborted) throw error
  }
  return { report, folders }

  async function takeAll(walk: Walk): Promise<void> {
    let waiting = [...walk.files.values()]
    const total = waiting.length
    let done = 0
    for (let look = 1; waiting.length > 0; look += 1) {
      const moving: FoundFile[] = []
      for (const file of waiting) {
        signal?.throwIfAborted()
        const isDone = await take(walk, file, look === mostLooks)
        if (!isDone) moving.push(file)
        else onProgress?.({ done: ++done, total, path: file.path })
      }
      waiting = moving
      if (waiting.length > 0) await sleep(clock, quietMs, signal)
    }
  }

  /** False where it is being written and is to be looked at again. */
  async function take(walk: Walk, found: FoundFile, isLastLook: boolean): Promise<boolean> {
    const before = known.get(found.path)
    if (before && isUnchanged(before, found)) return true
    const read = await readQuietFile(found.path, { now: clock.now, mostBytes: limits.fileBytes })
    if (!read.ok) {
      if (read.reason === 'being_written' && !isLastLook) return false
      if (read.reason === 'vanished' || read.reason === 'too_large') walk.files.delete(found.path)
      if (read.reason !== 'vanished') addSkipped(walk.skipped, found.path, read.reason, read.message)
      return true
    }
    const file: MemoryFileRow = {
      id: sha256(JSON.stringify(['file', userId, found.path])).slice(0, 32),
      user_id: userId,
      root: found.root,
      path: found.path,
      content_hash: sha256(read.bytes),
      bytes: read.bytes.length,
      modified_at: read.modifiedAt,
      indexed_at: clock.now(),
    }
    if (before?.content_hash === file.content_hash) await database.write((writer) => saveFile(writer, file))
    else await index(walk, file, read.bytes, before !== undefined)
    return true
  }

  async function index(walk: Walk, file: MemoryFileRow, bytes: Uint8Array, isKnown: boolean): Promise<void> {
    const decoded = decodeText(bytes)
    if (!decoded.ok) {
      addSkipped(walk.skipped, file.path, decoded.reason, 'it is no text')
      walk.files.delete(file.path)
      return
    }
    const { added, removed } = await writePassages(dependencies, {
      file,
      name: basename(file.path, extname(file.path)),
      label: labelOf(file.path),
      passages: chunkText(decoded.text, formatOf(file.path)),
    })
    report.passages.added += added
    report.passages.removed += removed
    if (isKnown) report.changed += 1
    else report.added += 1
  }

  /** What lies in the workspace is the owner's own. Any other folder may hold what strangers wrote: it is data only. */
  function labelOf(path: string): 'owner' | 'untrusted' {
    return roots.some((root) => root.isWorkspace) && isInside(workspace, path) ? 'owner' : 'untrusted'
  }

  async function removeVanished(walk: Walk): Promise<void> {
    for (const file of known.values()) {
      signal?.throwIfAborted()
      if (walk.files.has(file.path) || walk.unseen.some((path) => isInside(path, file.path))) continue
      report.passages.removed += await removeFile(dependencies, file)
      report.removed += 1
    }
  }
}

export function filesOf(database: Database, userId: string): Promise<MemoryFileRow[]> {
  return database.read.selectFrom('memory_files').selectAll().where('user_id', '=', userId).orderBy('path').execute()
}

function isUnchanged(before: MemoryFileRow, found: FoundFile): boolean {
  return (
    before.content_hash !== '' &&
    before.root === found.root &&
    before.bytes === found.bytes &&
    before.modified_at === found.modifiedAt &&
    before.modified_at < before.indexed_at - coarseMs
  )
}
