import { createHash } from 'node:crypto'
import { constants, existsSync, type Stats } from 'node:fs'
import { type FileHandle, lstat, open, readdir, readlink } from 'node:fs/promises'
import { basename, dirname, join, posix } from 'node:path'
import { describeFileError } from '../../../memory/files/walk-files.ts'
import type { FolderFile, ToolFolder } from './tool-folder.ts'

export type FolderReading = { ok: true; folder: ToolFolder } | { ok: false; problem: string }

const mostFiles = 2_000
const mostBytes = 32 * 1024 ** 2
const deepest = 12
const openFolder = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW
const openFile = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK

/** A problem of the folder itself, told to its owner. */
class FolderProblem extends Error {}

/**
 * Reads a tool's folder whole, hidden files and compiled Python left out. A link is taken for the file of the same folder
 * that it names; one that leads anywhere else refuses the tool, and so does what is larger than a tool has any use for
 * (SEC-11).
 */
export async function readToolFolder(directory: string, { isPrivate }: { isPrivate: boolean }): Promise<FolderReading> {
  const files = new Map<string, FolderFile>()
  const links = new Map<string, string>()
  let bytes = 0
  let isShared: string | null = null
  try {
    // Whoever can write around it can put another in its place.
    noteWriters(dirname(directory), await lstat(dirname(directory)))
    await readFolder(directory, '', 0)
    for (const [path, target] of links) addLinked(path, target)
    const sorted = [...files.values()].sort((a, b) => (a.path < b.path ? -1 : 1))
    return { ok: true, folder: { name: basename(directory), directory, files: sorted, hash: hashOf(sorted), isShared } }
  } catch (cause) {
    const reason = cause instanceof FolderProblem ? cause.message : describeFileError(cause).message
    return { ok: false, problem: `${directory}: ${reason}` }
  }

  async function readFolder(folder: string, inner: string, depth: number): Promise<void> {
    if (depth > deepest) throw new FolderProblem(`its folders are nested more than ${deepest} deep`)
    const handle = await open(folder, openFolder)
    try {
      const held = heldFolder(handle, folder)
      noteWriters(join(directory, inner), await handle.stat())
      for (const name of (await readdir(held)).sort()) {
        if (name.startsWith('.') || name === '__pycache__') continue
        await readEntry(join(held, name), posix.join(inner, name), depth)
        if (files.size + links.size > mostFiles) throw new FolderProblem(`it has more than ${mostFiles} files`)
      }
    } finally {
      await handle.close()
    }
  }

  async function readEntry(path: string, inner: string, depth: number): Promise<void> {
    const found = await lstat(path)
    if (found.isDirectory()) await readFolder(path, inner, depth + 1)
    else if (found.isSymbolicLink()) links.set(inner, await readlink(path))
    else if (found.isFile()) files.set(inner, await readFile(path, inner))
  }

  async function readFile(path: string, inner: string): Promise<FolderFile> {
    const file = await open(path, openFile)
    try {
      const opened = await file.stat()
      if (!opened.isFile()) throw new FolderProblem(`${inner} is no file`)
      noteWriters(join(directory, inner), opened)
      bytes += opened.size
      if (bytes > mostBytes) throw new FolderProblem(`it holds more than ${mostBytes / 1024 ** 2} MB`)
      const content = new Uint8Array(opened.size)
      const { bytesRead } = await file.read(content, 0, opened.size, 0)
      return { path: inner, bytes: content.subarray(0, bytesRead), isExecutable: (opened.mode & 0o111) !== 0 }
    } finally {
      await file.close()
    }
  }

  function addLinked(path: string, target: string): void {
    const inner = posix.isAbsolute(target) ? undefined : posix.join(posix.dirname(path), target)
    const file = inner === undefined ? undefined : files.get(inner)
    if (!file) throw new FolderProblem(`${path} is a link that leads to no file of it`)
    files.set(path, { ...file, path })
  }

  function noteWriters(path: string, { uid, mode }: Stats): void {
    if (isPrivate || isShared !== null) return
    const user = process.geteuid?.()
    if (uid !== 0 && uid !== user) isShared = `${path} belongs to another user`
    else if (mode & 0o022) isShared = `others can write to ${path}`
  }
}

/** Through what is open, where the system has that: a folder on the way may become a link after it was looked at. */
function heldFolder(handle: FileHandle, folder: string): string {
  const held = `/proc/self/fd/${handle.fd}`
  return existsSync(held) ? held : folder
}

function hashOf(files: readonly FolderFile[]): string {
  const hash = createHash('sha256')
  for (const { path, bytes, isExecutable } of files) {
    hash.update(`${Buffer.byteLength(path)}:${path}:${isExecutable ? 'x' : '-'}:${bytes.length}:`)
    hash.update(bytes)
  }
  return hash.digest('hex')
}
