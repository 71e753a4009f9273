import type { Stats } from 'node:fs'
import { lstat, readdir, realpath, stat } from 'node:fs/promises'
import { extname, isAbsolute, join, resolve } from 'node:path'
import type { Clock } from '../../base/clock.ts'
import { type Database, fitsIndex, maxIndexedBytes } from '../../storage/database.ts'

export interface FoundFile {
  path: string
  root: string
  bytes: number
  modifiedAt: number
}

type RootState = { state: 'found' | 'missing' } | { state: 'unreadable'; message: string }

export interface Walk {
  /** By path; a file under two roots belongs to the first. */
  files: Map<string, FoundFile>
  folders: string[]
  roots: Map<string, RootState>
  /** Unreadable places. Their files may still exist. */
  unseen: string[]
  skipped: SkippedFiles
}

export interface WalkLimits {
  fileBytes: number
  files: number
  /** Limit for all names: even a root of a whole disk ends. */
  names: number
}

export const defaultWalkLimits: WalkLimits = { fileBytes: 2_000_000, files: 20_000, names: 500_000 }

/**
 * Every text file under the roots, sorted by name. Symlinks are not followed: targets inside a root are found there,
 * and others were not requested. Nothing on the disk makes it fail.
 */
export async function walkFiles(
  roots: readonly string[],
  { limits = defaultWalkLimits, signal }: { limits?: WalkLimits; signal?: AbortSignal | undefined } = {},
): Promise<Walk> {
  const walk: Walk = {
    files: new Map(),
    folders: [],
    roots: new Map(),
    unseen: [],
    skipped: { counts: {}, examples: [] },
  }
  let names = 0
  for (const root of roots) walk.roots.set(root, await walkRoot(root))
  return walk

  async function walkRoot(root: string): Promise<RootState> {
    const found = await look(() => lstat(root))
    if (!found.ok) return found.gone ? { state: 'missing' } : unseen(root, found.message)
    if (!found.value.isDirectory()) {
      if (!found.value.isFile()) return unseen(root, 'it is neither a file nor a folder; symlinks are not followed')
      addFile(root, root, found.value)
      return { state: 'found' }
    }
    const waiting = [root]
    for (let folder = waiting.pop(); folder !== undefined; folder = waiting.pop()) {
      signal?.throwIfAborted()
      const problem = await walkFolder(root, folder, waiting)
      if (problem !== undefined && folder === root) return unseen(root, problem)
    }
    return { state: 'found' }
  }

  /** Adds its files, and queues its folders. Returns why it could not be read. */
  async function walkFolder(root: string, folder: string, waiting: string[]): Promise<string | undefined> {
    const listed = await look(() => readdir(folder))
    if (!listed.ok) {
      if (listed.gone) return undefined
      if (folder !== root) unseen(folder, listed.message)
      return listed.message
    }
    walk.folders.push(folder)
    const inner: string[] = []
    for (const name of listed.value.sort()) {
      signal?.throwIfAborted()
      const path = join(folder, name)
      names += 1
      if (names > limits.names) addSkipped(walk.skipped, path, 'too_many', 'there are too many names in the folders')
      else if (isIgnored(name)) addSkipped(walk.skipped, path, 'ignored')
      else await addPath(root, path, inner)
    }
    waiting.push(...inner.reverse())
    return undefined
  }

  async function addPath(root: string, path: string, folders: string[]): Promise<void> {
    const found = await look(() => lstat(path))
    if (!found.ok) {
      if (!found.gone) unseen(path, found.message)
    } else if (found.value.isDirectory()) folders.push(path)
    else if (found.value.isSymbolicLink()) addSkipped(walk.skipped, path, 'link')
    else if (!found.value.isFile() || !hasTextExtension(path)) addSkipped(walk.skipped, path, 'not_text')
    else addFile(root, path, found.value)
  }

  function addFile(root: string, path: string, stat: Stats): void {
    if (walk.files.has(path)) return
    if (!fitsIndex(path)) {
      addSkipped(walk.skipped, path, 'too_large', `its path has more than ${maxIndexedBytes} bytes`)
      return
    }
    if (stat.size > limits.fileBytes) {
      addSkipped(walk.skipped, path, 'too_large', `it has more than ${limits.fileBytes} bytes`)
    } else if (walk.files.size >= limits.files) {
      addSkipped(walk.skipped, path, 'too_many', `there are more than ${limits.files} files`)
    } else walk.files.set(path, { path, root, bytes: stat.size, modifiedAt: Math.trunc(stat.mtimeMs) })
  }

  function unseen(path: string, message: string): RootState {
    walk.unseen.push(path)
    addSkipped(walk.skipped, path, 'unreadable', message)
    return { state: 'unreadable', message }
  }
}

function isIgnored(name: string): boolean {
  return name.startsWith('.') || name === 'node_modules'
}

type Look<T> = { ok: true; value: T } | { ok: false; gone: boolean; message: string }

async function look<T>(read: () => Promise<T>): Promise<Look<T>> {
  try {
    return { ok: true, value: await read() }
  } catch (cause) {
    const { code, message } = describeFileError(cause)
    return { ok: false, gone: code === 'ENOENT' || code === 'ENOTDIR', message }
  }
}

/** The system's message without the path, which is shown beside it. */
export function describeFileError(cause: unknown): { code: string | undefined; message: string } {
  if (!(cause instanceof Error)) return { code: undefined, message: String(cause) }
  const code = 'code' in cause ? String(cause.code) : undefined
  return { code, message: reasons[code ?? ''] ?? cause.message.split(',')[0] ?? cause.message }
}

const reasons: Record<string, string> = {
  EACCES: 'no permission to read it',
  EPERM: 'no permission to read it',
  ENOENT: 'it does not exist',
  ENOTDIR: 'it does not exist',
  ELOOP: 'it is a symlink',
}

/**
 * Why a file is not indexed. `ignored`: hidden, or a folder of installed packages; `link`: the target of a symlink is
 * indexed in its own place; `being_written`: it kept changing.
 */
type SkipReason = 'binary' | 'too_large' | 'too_many' | 'unreadable' | 'being_written' | 'not_text' | 'ignored' | 'link'

export interface SkippedFiles {
  counts: Partial<Record<SkipReason, number>>
  /** The first of those that may surprise a user. */
  examples: { path: string; reason: SkipReason; message: string }[]
}

const maxExamples = 50
const expected: ReadonlySet<SkipReason> = new Set(['not_text', 'ignored', 'link'])

export function addSkipped(skipped: SkippedFiles, path: string, reason: SkipReason, message: string = reason): void {
  skipped.counts[reason] = (skipped.counts[reason] ?? 0) + 1
  if (expected.has(reason) || skipped.examples.length >= maxExamples) return
  skipped.examples.push({ path, reason, message })
}

export type TextFormat = 'markdown' | 'restructured' | 'org' | 'asciidoc'

const formats: Record<string, TextFormat> = {
  '.rst': 'restructured',
  '.org': 'org',
  '.adoc': 'asciidoc',
  '.asciidoc': 'asciidoc',
}

const textExtensions = new Set([
  ...Object.keys(formats),
  ...'.md .mdx .markdown .mdown .txt .text .tex .textile .wiki .csv .tsv .srt .vtt'.split(' '),
])

/** The files that a folder is searched for. A file that is named itself is read whatever its extension. */
export function hasTextExtension(path: string): boolean {
  return textExtensions.has(extname(path).toLowerCase())
}

/** Markdown by default: plain text is similar. */
export function formatOf(path: string): TextFormat {
  return formats[extname(path).toLowerCase()] ?? 'markdown'
}

/** A file or folder that is indexed with everything in it. */
export interface FileRoot {
  path: string
  /** Part of the workspace: always indexed, cannot be removed. */
  isWorkspace: boolean
}

export type AddedRoot =
  | { ok: true; root: FileRoot; isNew: boolean }
  | { ok: false; reason: 'forbidden' | 'not_found' | 'bad_path'; message: string }

/** The roots that each user added, stored across restarts. */
export function createFileRoots(dependencies: { database: Database; clock: Clock; workspace: string }) {
  const { database, clock, workspace } = dependencies
  const ownRoots = [join(workspace, 'MEMORY.md'), join(workspace, 'memory')]

  return {
    async add(userId: string, given: string): Promise<AddedRoot> {
      // The files of this machine belong to its owner: other users' roots would be read with the owner's permissions.
      if (!(await isOwner(userId))) return { ok: false, reason: 'forbidden', message: 'Only the owner may add folders' }
      const found = await findPath(given)
      if (!found.ok) return found
      const { path } = found
      if (ownRoots.includes(path)) return { ok: true, root: { path, isWorkspace: true }, isNew: false }
      const isNew = await database.write(async (writer) => {
        const added = await writer
          .insertInto('memory_marks')
          .values({ user_id: userId, name: prefix + path, value: '', updated_at: clock.now() })
          .onConflict((conflict) => conflict.doNothing())
          .executeTakeFirst()
        return Number(added.numInsertedOrUpdatedRows) > 0
      })
      return { ok: true, root: { path, isWorkspace: false }, isNew }
    },

    /** False if it is not a root, or belongs to the workspace. */
    async remove(userId: string, given: string): Promise<boolean> {
      const found = await findPath(given)
      const names = [resolve(given), ...(found.ok ? [found.path] : [])].map((path) => prefix + path)
      const removed = await database.write((writer) =>
        writer.deleteFrom('memory_marks').where('user_id', '=', userId).where('name', 'in', names).executeTakeFirst(),
      )
      return Number(removed.numDeletedRows) > 0
    },

    /** The workspace first, then outer ones before those inside them. */
    async list(userId: string): Promise<FileRoot[]> {
      const rows = await database.read
        .selectFrom('memory_marks')
        .select('name')
        .where('user_id', '=', userId)
        .where('name', '>=', prefix)
        .where('name', '<', afterPrefix)
        .orderBy('name')
        .execute()
      const own = (await isOwner(userId)) ? ownRoots : []
      return [
        ...own.map((path) => ({ path, isWorkspace: true })),
        ...rows.map(({ name }) => ({ path: name.slice(prefix.length), isWorkspace: false })),
      ]
    },
  }

  async function isOwner(userId: string): Promise<boolean> {
    const user = await database.read.selectFrom('users').select('role').where('id', '=', userId).executeTakeFirst()
    return user?.role === 'owner'
  }
}

const prefix = 'file_root:'
const afterPrefix = 'file_root;'
const maxPathLength = maxIndexedBytes - prefix.length

/** With symlinks resolved, so that the same folder is the same root under each of its names. */
async function findPath(given: string): Promise<{ ok: true; path: string } | Extract<AddedRoot, { ok: false }>> {
  if (!isAbsolute(given)) return { ok: false, reason: 'bad_path', message: `Give the absolute path of ${given}` }
  try {
    const path = await realpath(given)
    if (!fitsIndex(prefix + path)) {
      return { ok: false, reason: 'bad_path', message: `A path may have at most ${maxPathLength} bytes` }
    }
    const found = await stat(path)
    if (found.isFile() || found.isDirectory()) return { ok: true, path }
    return { ok: false, reason: 'bad_path', message: `${given} is neither a file nor a folder` }
  } catch (cause) {
    return { ok: false, reason: 'not_found', message: `${given}: ${describeFileError(cause).message}` }
  }
}
