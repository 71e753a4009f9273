import { chmod, chown, lstat, mkdir, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { hasCode, type OpenFolder, openFolder } from '../../base/files.ts'
import { sha256 } from '../../base/ids.ts'
import type { SandboxFolder } from '../../sandbox/sandbox.ts'

export interface CopyLimits {
  files: number
  bytes: number
  fileBytes: number
}

/** A file that the copy got, or that was written into it. */
interface KnownFile {
  /** The original, as it was when it was copied. */
  original: string
  copy: string
  /** Of its content. */
  hash: string
}

export interface WrittenFile {
  path: string
  bytes: Uint8Array
  isExecutable: boolean
  /** The original as it was copied; null if there was none. */
  before: { stamp: string; hash: string } | null
}

export interface CopyChanges {
  written: WrittenFile[]
  /** In the original and no longer in the copy. */
  removed: { path: string; before: { stamp: string; hash: string } }[]
  /** Copied files whose content the code has read or written; undefined where the file system does not tell. */
  used: { path: string; hash: string }[]
  /** Reasons for what cannot be kept. */
  notes: string[]
}

/** Thousands of files that programs make, and make again when they are missing. */
const builtFolders = new Set(['node_modules', '__pycache__', '.venv', 'venv', '.cache'])
const maxDepth = 32
/** A file that is read gets a later access time, and the code cannot set it back without a change of the file's ctime. */
const unread = new Date(1_000)

export type WorkingCopy = Awaited<ReturnType<typeof createWorkingCopy>>

/**
 * A copy of a folder that a sandbox may write. It is updated before a run; after it, `changes` says what the code did.
 * The original is read through open folders, so no link leads out of it, and links are not copied.
 */
export async function createWorkingCopy({ folder, limits }: { folder: SandboxFolder; limits: CopyLimits }) {
  const known = new Map<string, KnownFile>()
  const { path: top, owner } = folder
  await clear(top)
  const tellsReading = await tellsWhatIsRead(top)

  const inside = (path: string) => join(top, path)

  async function give(path: string, mode: number): Promise<void> {
    if (owner) await chown(path, owner.uid, owner.gid)
    await chmod(path, mode)
  }

  async function put(path: string, bytes: Uint8Array, isExecutable: boolean): Promise<string> {
    const target = inside(path)
    await rm(target, { recursive: true, force: true })
    await writeFile(target, bytes, { flag: 'wx' })
    await give(target, isExecutable ? 0o777 : 0o666)
    return await markUnread(path)
  }

  async function markUnread(path: string): Promise<string> {
    const target = inside(path)
    const { mtime } = await lstat(target)
    await utimes(target, unread, mtime)
    return stampOf(await lstat(target))
  }

  /** Brings the copy to the state of the original. The number of files that do not fit is returned. */
  async function update(root: string): Promise<{ leftOut: number }> {
    const seen = new Set<string>()
    const folders = new Set<string>()
    let leftOut = 0
    let bytes = 0

    async function take(open: OpenFolder, name: string, path: string): Promise<void> {
      const found = await open.look(name)
      if (!found.isFile() || found.nlink > 1) return
      if (seen.size >= limits.files || found.size > limits.fileBytes || bytes + found.size > limits.bytes) {
        leftOut += 1
        return
      }
      const original = stampOf(found)
      const there = await lstat(inside(path)).catch(() => undefined)
      const before = known.get(path)
      if (before && there && before.original === original && before.copy === stampOf(there)) {
        if (there.atimeMs !== unread.getTime()) known.set(path, { ...before, copy: await markUnread(path) })
      } else {
        const read = await open.read(name, limits.fileBytes)
        if (!read.bytes || !read.stat.isFile() || read.stat.nlink > 1) {
          leftOut += 1
          return
        }
        const copy = await put(path, read.bytes, (read.stat.mode & 0o100) !== 0)
        known.set(path, { original: stampOf(read.stat), copy, hash: sha256(read.bytes) })
      }
      seen.add(path)
      bytes += found.size
    }

    // Level by level: what lies near the top is what fits.
    let level: string[][] = [[]]
    for (let depth = 0; level.length > 0 && depth <= maxDepth; depth += 1) {
      const next: string[][] = []
      for (const names of level) {
        const open = await openFolder(root, names).catch(() => undefined)
        if (!open) continue
        try {
          await makeFolder(names)
          for (const name of (await open.names()).sort()) {
            const path = [...names, name].join('/')
            const isFolder = await open.look(name).then(
              (found) => found.isDirectory(),
              () => undefined,
            )
            if (isFolder && !builtFolders.has(name)) next.push([...names, name])
            // It may vanish at any moment.
            if (isFolder === false) await take(open, name, path).catch(ignoreGone)
          }
        } finally {
          await open.close()
        }
      }
      level = next
    }
    await removeOthers('', seen, folders)
    for (const path of known.keys()) if (!seen.has(path)) known.delete(path)
    return { leftOut }

    async function makeFolder(names: readonly string[]): Promise<void> {
      const path = names.join('/')
      folders.add(path)
      if (path === '') return
      const there = await lstat(inside(path)).catch(() => undefined)
      if (there?.isDirectory()) return
      if (there) await rm(inside(path), { force: true })
      await mkdir(inside(path))
      await give(inside(path), 0o777)
    }
  }

  async function removeOthers(folderPath: string, files: ReadonlySet<string>, folders: ReadonlySet<string>) {
    for (const entry of await readdir(inside(folderPath), { withFileTypes: true })) {
      const path = folderPath === '' ? entry.name : `${folderPath}/${entry.name}`
      if (entry.isDirectory() && folders.has(path)) await removeOthers(path, files, folders)
      else if (!files.has(path)) await rm(inside(path), { recursive: true, force: true })
    }
  }

  /** The changes of the code, which has ended. Everything in the copy may be made to deceive. */
  async function changes(): Promise<CopyChanges> {
    const written: WrittenFile[] = []
    const notes = new Set<string>()
    const there = new Set<string>()
    const used: CopyChanges['used'] = []

    async function look(open: OpenFolder, name: string, path: string): Promise<void> {
      const found = await open.look(name)
      if (!found.isFile()) {
        notes.add(found.isSymbolicLink() ? 'Links are not kept.' : 'Only plain files are kept.')
        return
      }
      there.add(path)
      const before = known.get(path)
      const isSame = before?.copy === stampOf(found)
      if (before && !(isSame && tellsReading && found.atimeMs === unread.getTime())) {
        used.push({ path, hash: before.hash })
      }
      if (isSame) return
      const { bytes, stat } = await open.read(name, limits.fileBytes)
      if (!bytes) {
        notes.add(`${path} is too large to be kept.`)
        return
      }
      if (before?.hash === sha256(bytes)) return
      written.push({
        path,
        bytes,
        isExecutable: (stat.mode & 0o100) !== 0,
        before: before ? { stamp: before.original, hash: before.hash } : null,
      })
    }

    async function walk(names: readonly string[]): Promise<void> {
      const open = await openFolder(top, names).catch((cause: unknown) => {
        notes.add(`${names.join('/')} cannot be read.`)
        if (!hasCode(cause, 'EACCES', 'ENOENT', 'ELOOP', 'ENOTDIR')) throw cause
      })
      if (!open) return
      try {
        for (const name of (await open.names()).sort()) {
          const way = [...names, name]
          const found = await open.look(name)
          if (found.isDirectory()) {
            if (builtFolders.has(name))
              notes.add(`${name} folders are not kept in the workspace; use /scratch for them.`)
            else if (way.length <= maxDepth) await walk(way)
            else notes.add('Folders that are nested too deeply are not kept.')
          } else {
            await look(open, name, way.join('/')).catch((cause: unknown) => {
              if (!hasCode(cause, 'EACCES')) throw cause
              notes.add(`${way.join('/')} cannot be read.`)
            })
          }
        }
      } finally {
        await open.close()
      }
    }

    await walk([])
    const removed = [...known]
      .filter(([path]) => !there.has(path))
      .map(([path, { original, hash }]) => ({ path, before: { stamp: original, hash } }))
    // A file that is gone may have been read first.
    for (const { path, before } of removed) used.push({ path, hash: before.hash })
    return { written, removed, used, notes: [...notes] }
  }

  return {
    folder: top,
    update,
    changes,
    hasFile: (path: string) => known.has(path),
    hasFolder: (path: string) =>
      lstat(inside(path)).then(
        (found) => found.isDirectory(),
        () => false,
      ),
    /** Everything in it is doubtful: the next update copies it all again. */
    async reset(): Promise<void> {
      known.clear()
      await clear(top)
    },
  }
}

function ignoreGone(cause: unknown): void {
  if (!hasCode(cause, 'ENOENT', 'EACCES', 'ELOOP', 'EPERM')) throw cause
}

export function stampOf(found: { ino: number; size: number; mtimeMs: number; ctimeMs: number }): string {
  return `${found.ino}:${found.size}:${found.mtimeMs}:${found.ctimeMs}`
}

/** Some file systems are mounted so that reading leaves no trace. */
async function tellsWhatIsRead(folder: string): Promise<boolean> {
  const path = join(folder, '.probe')
  try {
    await writeFile(path, 'x')
    await utimes(path, unread, new Date())
    const before = (await lstat(path)).atimeMs
    await readFile(path)
    return (await lstat(path)).atimeMs !== before
  } finally {
    await rm(path, { force: true })
  }
}

export async function clear(folder: string): Promise<void> {
  for (const name of await readdir(folder)) await rm(join(folder, name), { recursive: true, force: true })
}

/** The space and number of everything below a folder, as it is while something writes there. */
export async function measure(folder: string, most: { bytes: number; entries: number }) {
  let bytes = 0
  let entries = 0
  const waiting = [folder]
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    for (const entry of await readdir(next, { withFileTypes: true }).catch(() => [])) {
      const path = join(next, entry.name)
      entries += 1
      if (entry.isDirectory()) waiting.push(path)
      else if (entry.isFile())
        bytes += await lstat(path).then(
          ({ blocks }) => blocks * 512,
          () => 0,
        )
      if (bytes > most.bytes || entries > most.entries) return { bytes, entries }
    }
  }
  return { bytes, entries }
}
