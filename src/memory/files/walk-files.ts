import type { Stats } from 'node:fs'
import { lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fitsIndex, longestIndexedBytes } from '../../storage/index-key.ts'
import { addSkipped, type SkippedFiles } from './skipped-files.ts'
import { hasTextExtension } from './text-format.ts'

export interface FoundFile {
  path: string
  root: string
  bytes: number
  modifiedAt: number
}

export type RootState = { state: 'found' | 'missing' } | { state: 'unreadable'; message: string }

export interface Walk {
  /** By path; a file under two roots belongs to the first. */
  files: Map<string, FoundFile>
  folders: string[]
  roots: Map<string, RootState>
  /** What could not be looked at. Whatever lies there may still be there. */
  unseen: string[]
  skipped: SkippedFiles
}

export interface WalkLimits {
  fileBytes: number
  files: number
  /** Of all names that are looked at: a root of a whole disk comes to an end. */
  names: number
}

export const usualLimits: WalkLimits = { fileBytes: 2_000_000, files: 20_000, names: 500_000 }

/**
 * Every text file under the roots, in the order of their names. A symlink is not followed: what it leads to inside a root
 * is found there, and what lies outside was not asked for. Nothing that it meets on the disk makes it fail.
 */
export async function walkFiles(
  roots: readonly string[],
  { limits = usualLimits, signal }: { limits?: WalkLimits; signal?: AbortSignal | undefined } = {},
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

  /** Adds its files, and its folders to those that wait. Returns why it could not be read. */
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
      if (names > limits.names) addSkipped(walk.skipped, path, 'too_many', 'too many names under the folders')
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
      addSkipped(walk.skipped, path, 'too_large', `its path has more than ${longestIndexedBytes} bytes`)
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

/** The system's own words without the path in them, which stands beside. */
export function describeFileError(cause: unknown): { code: string | undefined; message: string } {
  if (!(cause instanceof Error)) return { code: undefined, message: String(cause) }
  const code = 'code' in cause ? String(cause.code) : undefined
  return { code, message: reasons[code ?? ''] ?? cause.message.split(',')[0] ?? cause.message }
}

const reasons: Record<string, string> = {
  EACCES: 'no permission to read it',
  EPERM: 'no permission to read it',
  ENOENT: 'it is not there',
  ENOTDIR: 'it is not there',
  ELOOP: 'it is a symlink',
}
