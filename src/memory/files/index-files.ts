import { constants } from 'node:fs'
import { type FileHandle, open, readFile } from 'node:fs/promises'
import { basename, extname, join, relative } from 'node:path'
import type { z } from 'zod'
import { type Clock, sleep } from '../../base/clock.ts'
import { namesBelow } from '../../base/files.ts'
import { sha256 } from '../../base/ids.ts'
import type { filePlaceSchema, syncReplySchema } from '../../protocol/memory.ts'
import type { Database } from '../../storage/database.ts'
import type { MemoryFileRow } from '../../storage/tables.ts'
import type { Memories } from '../memories.ts'
import { chunkText } from './chunk-text.ts'
import {
  addSkipped,
  createFileRoots,
  defaultWalkLimits,
  describeFileError,
  type FileRoot,
  type FoundFile,
  formatOf,
  type Walk,
  type WalkLimits,
  walkFiles,
} from './walk-files.ts'
import { removeFile, saveFile, writePassages } from './write-passages.ts'

/**
 * Text files as memories: each passage is a memory of kind `chunk`, found by the same recall as all others. The files
 * are never written.
 *
 * Disk problems (a file without permission, a missing folder) are in the report and do not fail the call. Only the
 * database can make a call reject.
 */
export type FileIndex = ReturnType<typeof createFileIndex>

export function createFileIndex(dependencies: {
  database: Database
  memories: Memories
  clock: Clock
  /** Its MEMORY.md and memory/ are indexed for every owner. */
  workspace: string
  limits?: WalkLimits
}) {
  const { database, workspace, limits = defaultWalkLimits } = dependencies
  const roots = createFileRoots(dependencies)
  const synced = new Map<string, Awaited<ReturnType<typeof syncFiles>>>()
  const turns = new Map<string, Promise<unknown>>()

  return {
    /** A file or folder by its absolute path. Takes effect with the next `sync`. */
    addRoot: roots.add,

    /** With all passages of its files. False if it is not a root, or belongs to the workspace. */
    removeRoot: (userId: string, path: string): Promise<boolean> =>
      inTurn(userId, async () => {
        if (!(await roots.remove(userId, path))) return false
        const left = await roots.list(userId)
        for (const file of await filesOf(database, userId)) {
          if (!left.some((root) => isInside(root.path, file.path))) await removeFile(dependencies, file)
        }
        return true
      }),

    /** With the number of indexed files. */
    async roots(userId: string): Promise<(FileRoot & { files: number })[]> {
      const files = await filesOf(database, userId)
      return (await roots.list(userId)).map((root) => ({
        ...root,
        files: files.filter((file) => file.root === root.path).length,
      }))
    },

    /** Updates the index from the disk, reading only changed files. One at a time per user. */
    sync: (userId: string, options: SyncOptions = {}): Promise<SyncReport> =>
      inTurn(userId, async () => {
        const wanted = { userId, roots: await roots.list(userId), ...options }
        const result = await syncFiles({ ...dependencies, limits }, wanted)
        synced.set(userId, result)
        return result.report
      }),

    /** The report of the last `sync` since the start. */
    lastReport: (userId: string) => synced.get(userId)?.report,
    folders: (userId: string) => synced.get(userId)?.folders ?? [],

    /** The places of memories that are passages of files; others are omitted. */
    async fileOf(userId: string, memoryIds: readonly string[]): Promise<Map<string, FilePlace>> {
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

  /** Two at once would overwrite each other. */
  function inTurn<T>(userId: string, task: () => Promise<T>): Promise<T> {
    const turn = (turns.get(userId) ?? Promise.resolve()).then(task)
    turns.set(
      userId,
      turn.catch(() => undefined),
    )
    return turn
  }
}

/** The place of a passage, for display. */
export type FilePlace = z.infer<typeof filePlaceSchema>

/** `notes/trip.md:12-18` */
export function citePlace({ path, firstLine, lastLine }: FilePlace): string {
  return `${path}:${firstLine}${lastLine > firstLine ? `-${lastLine}` : ''}`
}

function shownPath({ root, path, workspace }: { root: string; path: string; workspace: string }): string {
  return isInside(workspace, root) ? relative(workspace, path) : join(basename(root), relative(root, path))
}

export function isInside(folder: string, path: string): boolean {
  return namesBelow(folder, path) !== undefined
}

/**
 * Decodes a file as text, without its byte order mark. Invalid UTF-8 becomes U+FFFD: an old text with a few unknown
 * letters is worth reading. Text never contains NUL.
 */
export function decodeIndexedFile(bytes: Uint8Array): { ok: true; text: string } | { ok: false; reason: 'binary' } {
  const text = new TextDecoder(encodingOf(bytes)).decode(bytes)
  return text.includes('\u0000') ? { ok: false, reason: 'binary' } : { ok: true, text }
}

function encodingOf(bytes: Uint8Array): string {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le'
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return 'utf-16be'
  return 'utf-8'
}

type QuietFile =
  | { ok: true; bytes: Uint8Array; modifiedAt: number }
  /** `vanished` is not a problem: the next sync notices it. */
  | { ok: false; reason: 'being_written' | 'too_large' | 'unreadable' | 'vanished'; message: string }

/** Within this time after its last change a file may still be changing. */
const quietMs = 200

/** Reads a file that is not being written. Never follows a symlink and never waits for a pipe. */
async function readQuietFile(
  path: string,
  { now, maxBytes }: { now: () => number; maxBytes: number },
): Promise<QuietFile> {
  try {
    await using file = await open(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0))
    const before = await file.stat()
    if (!before.isFile()) return { ok: false, reason: 'unreadable', message: 'it is not a file' }
    if (before.size > maxBytes) return { ok: false, reason: 'too_large', message: `it has more than ${maxBytes} bytes` }
    if (Math.abs(now() - before.mtimeMs) < quietMs) return beingWritten
    // It may grow while it is read; one byte more detects that.
    const bytes = await readAtMost(file, before.size + 1)
    const after = await file.stat()
    const isSame = bytes.length === before.size && after.size === before.size && after.mtimeMs === before.mtimeMs
    return isSame ? { ok: true, bytes, modifiedAt: Math.trunc(before.mtimeMs) } : beingWritten
  } catch (cause) {
    const { code, message } = describeFileError(cause)
    return { ok: false, reason: code === 'ENOENT' || code === 'ENOTDIR' ? 'vanished' : 'unreadable', message }
  }
}

const beingWritten: QuietFile = { ok: false, reason: 'being_written', message: 'it is still being written' }

async function readAtMost(file: FileHandle, most: number): Promise<Uint8Array> {
  const buffer = Buffer.alloc(most)
  let length = 0
  while (length < most) {
    const { bytesRead } = await file.read(buffer, length, most - length, length)
    if (bytesRead === 0) break
    length += bytesRead
  }
  return buffer.subarray(0, length)
}

export type SyncReport = z.infer<typeof syncReplySchema>

interface SyncOptions {
  signal?: AbortSignal | undefined
  onProgress?: ((progress: { done: number; total: number; path: string }) => void) | undefined
}

/** After so many attempts, a file that is written without a pause is left for the next time. */
const maxLooks = 5
/** A file can change again within one tick of a coarse file system: such a recent time proves nothing. */
const coarseMs = 2_000

/** Updates one user's index from the disk. Passages of an unreadable folder stay. */
async function syncFiles(
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
        const isDone = await take(walk, file, look === maxLooks)
        if (!isDone) moving.push(file)
        else onProgress?.({ done: ++done, total, path: file.path })
      }
      waiting = moving
      if (waiting.length > 0) await sleep(clock, quietMs, signal)
    }
  }

  /** False if it is being written and must be checked again. */
  async function take(walk: Walk, found: FoundFile, isLastLook: boolean): Promise<boolean> {
    const before = known.get(found.path)
    if (before && isUnchanged(before, found)) return true
    const read = await readQuietFile(found.path, { now: clock.now, maxBytes: limits.fileBytes })
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
    const decoded = decodeIndexedFile(bytes)
    if (!decoded.ok) {
      addSkipped(walk.skipped, file.path, decoded.reason, 'it is not text')
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

  /** Files in the workspace are trusted. Other folders may contain untrusted text. */
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

function filesOf(database: Database, userId: string): Promise<MemoryFileRow[]> {
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

interface WorkspaceFile {
  path: string
  text: string
  at: number
}

/** The user's memory files (MEMORY.md, memory/*.md) in their current state. Unreadable ones are omitted. */
export async function readWorkspaceFiles(index: Pick<FileIndex, 'roots'>, userId: string): Promise<WorkspaceFile[]> {
  const roots = await index.roots(userId)
  const { files } = await walkFiles(roots.filter((root) => root.isWorkspace).map((root) => root.path))
  const read = Array.from(files.values(), async ({ path, modifiedAt }): Promise<WorkspaceFile[]> => {
    const bytes = await readFile(path).catch(() => undefined)
    const decoded = bytes && decodeIndexedFile(bytes)
    return decoded?.ok ? [{ path, text: decoded.text, at: modifiedAt }] : []
  })
  return (await Promise.all(read)).flat()
}
