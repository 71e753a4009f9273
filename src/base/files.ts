import { randomUUID } from 'node:crypto'
import { constants, existsSync, readFileSync, statSync } from 'node:fs'
import {
  chmod,
  type FileHandle,
  lstat,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  readlink,
  realpath,
  rename,
  rm,
  rmdir,
  stat,
  unlink,
} from 'node:fs/promises'
import { homedir } from 'node:os'
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { FamiliarError } from '../protocol/errors.ts'
import type { Clock } from './clock.ts'

/** Whether it is an error of the system with one of these codes. */
export function hasCode(cause: unknown, ...codes: string[]): boolean {
  return cause instanceof Error && 'code' in cause && codes.includes(String(cause.code))
}

/** Reads a prompt or other text that is stored beside the code. */
export function readBundledText(url: URL): string {
  return readFileSync(fileURLToPath(url), 'utf8').trim()
}

/** Empty if it cannot be read. */
export function readIfThere(path: string, encoding: BufferEncoding = 'utf8'): string {
  try {
    return readFileSync(path, encoding)
  } catch {
    return ''
  }
}

/**
 * Caches small text files; undefined if there is none. Changes are checked again after `freshForMs`, because many
 * concurrent turns read the same few files.
 */
export function createTextFileCache(clock: Clock, freshForMs = 0): (path: string) => string | undefined {
  const known = new Map<string, { stamp: string; text: string }>()
  const looks = new Map<string, { at: number; text: string | undefined }>()
  return (path) => {
    const now = clock.now()
    const look = looks.get(path)
    if (look && now - look.at < freshForMs) return look.text
    const text = readIfChanged(path)
    looks.set(path, { at: now, text })
    return text
  }

  function readIfChanged(path: string): string | undefined {
    const stat = statSync(path, { throwIfNoEntry: false })
    if (!stat?.isFile()) return undefined
    const stamp = `${stat.mtimeMs}:${stat.size}:${stat.ino}`
    const cached = known.get(path)
    if (cached?.stamp === stamp) return cached.text
    const text = readFileSync(path, 'utf8')
    known.set(path, { stamp, text })
    return text
  }
}

/**
 * Once this resolves, the new content survives a power cut; before, and on every failure, the old content remains.
 * Readers never see a partial file. Replaces a symlink at `path` instead of writing through it.
 */
export async function writeFileAtomically(
  path: string,
  data: string | Uint8Array | AsyncIterable<Uint8Array>,
  mode = 0o600,
  { durable = true } = {},
): Promise<void> {
  // In the same directory, because a rename is atomic only within one file system.
  const temporary = join(dirname(path), `.${basename(path)}.${randomUUID()}.tmp`)
  try {
    const file = await open(temporary, 'wx', mode)
    try {
      // The mode given to open() is reduced by the umask.
      await file.chmod(mode)
      await file.writeFile(data)
      if (durable) await file.sync()
    } finally {
      await file.close()
    }
    await rename(temporary, path)
    if (durable) await syncDirectory(dirname(path))
  } catch (cause) {
    await rm(temporary, { force: true }).catch(() => {})
    throw toFileError(path, cause)
  }
}

/** The same without durability: readers see the old or the new content, and it does not wait for the disk. */
export async function replaceFile(path: string, data: string | Uint8Array): Promise<void> {
  await writeFileAtomically(path, data, 0o600, { durable: false })
}

/** A rename is durable only once its directory is synced. */
export async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r')
  try {
    await directory.sync()
  } finally {
    await directory.close()
  }
}

/** Makes `path` a directory that only this user can enter, or throws the reason why it cannot be one. */
export async function ensurePrivateDirectory(path: string): Promise<void> {
  // With a trailing slash, lstat would follow a symlink.
  const directory = resolve(path)
  const found = await lstat(directory).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code === 'ENOENT') return undefined
    throw notWritable(directory, cause)
  })
  if (!found) {
    await mkdir(directory, { recursive: true, mode: 0o700 }).catch((cause) => {
      throw notWritable(directory, cause)
    })
    return
  }
  // The owner of the link can point it elsewhere after the check.
  if (found.isSymbolicLink()) throw new FamiliarError('forbidden', `${directory} is a symlink. Use the real directory.`)
  if (!found.isDirectory()) throw new FamiliarError('forbidden', `${directory} is not a directory.`)
  const user = process.geteuid?.()
  if (user !== undefined && found.uid !== user) {
    throw new FamiliarError('forbidden', `${directory} belongs to another user.`)
  }
  // Restricting /tmp would break the machine.
  if (found.mode & stickyBit) {
    throw new FamiliarError('forbidden', `${directory} is shared with other users. Use a directory of your own.`)
  }
  if (found.mode & 0o077) await chmod(directory, found.mode & 0o700)
  try {
    // Only an actual attempt also detects read-only file systems and access lists.
    await rmdir(await mkdtemp(join(directory, '.probe-')))
  } catch (cause) {
    throw notWritable(directory, cause)
  }
}

const stickyBit = 0o1000

function notWritable(path: string, cause: unknown): FamiliarError {
  const reason = cause instanceof Error && 'code' in cause ? ` (${String(cause.code)})` : ''
  return new FamiliarError('forbidden', `${path} cannot be written${reason}. Check its owner and permissions.`, {
    cause,
  })
}

export function toFileError(path: string, cause: unknown): unknown {
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined
  if (code !== 'ENOSPC' && code !== 'EDQUOT') return cause
  return new FamiliarError('storage_full', `The disk is full: ${path} was not written.`, { cause })
}

/**
 * A folder that is held open: names are looked up in it whatever happens to its path. Links are never followed. Errors
 * are those of the system.
 */
export interface OpenFolder extends ReturnType<typeof heldFolder> {
  /** One of its folders. The caller closes it. */
  child(name: string): Promise<OpenFolder>
}

const descriptors = '/proc/self/fd'
const hasDescriptors = existsSync(descriptors)
const asFolder = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW
const asFile = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY

/**
 * Opens the folder at `names` below `root`, step by step. No step follows a link, so none leads out, even if another
 * program swaps something on the way (SEC-11). With `make`, missing folders are created.
 *
 * `root` is a real path. Without /proc the steps use paths, and `isInPlace` detects a swap.
 */
export async function openFolder(
  root: string,
  names: readonly string[],
  { make = false }: { make?: boolean } = {},
): Promise<OpenFolder> {
  let held = { handle: await open(root, asFolder), path: root }
  for (const name of names) {
    const parent = held
    try {
      if (make) {
        await mkdir(entryOf(parent, name), 0o700).catch((cause: NodeJS.ErrnoException) => {
          if (cause.code !== 'EEXIST') throw cause
        })
      }
      held = await openChild(parent, name)
    } finally {
      await parent.handle.close()
    }
  }
  return wrap(held, root)
}

interface Held {
  handle: FileHandle
  path: string
}

function wrap(held: Held, root: string): OpenFolder {
  return { ...heldFolder(held, root), child: async (name) => wrap(await openChild(held, name), root) }
}

function heldFolder(held: Held, root: string) {
  const { handle, path } = held
  const entry = (name: string) => entryOf(held, name)
  return {
    names: () => readdir(selfOf(held)),
    /** The type of a name, without opening it: opening a device or a pipe can have side effects. */
    look: (name: string) => lstat(entry(name)),
    /** The content of a file, or undefined if it has more than `maxBytes`. `stat` is of the opened file. */
    async read(name: string, maxBytes: number) {
      const file = await open(entry(name), asFile)
      try {
        const found = await file.stat()
        if (found.size > maxBytes) return { stat: found, bytes: undefined }
        return { stat: found, bytes: await readAtMost(file, found.size) }
      } finally {
        await file.close()
      }
    },
    /** All or nothing, as `writeFileAtomically`. */
    write: (name: string, content: string | Uint8Array, mode?: number) =>
      writeFileAtomically(entry(name), content, mode),
    remove: (name: string) => unlink(entry(name)),
    /** Only if it is empty; otherwise the system's error. */
    removeFolder: (name: string) => rmdir(entry(name)),
    move: (name: string, target: string) => rename(entry(name), target),
    /** Whether it is still below the root from which it was opened. */
    async isInPlace() {
      if (hasDescriptors) return namesBelow(root, await readlink(selfOf(held))) !== undefined
      const [own, found] = await Promise.all([handle.stat(), stat(path)])
      return own.ino === found.ino && own.dev === found.dev && (await realpath(path)) === path
    },
    close: () => handle.close(),
  }
}

function selfOf({ handle, path }: Held): string {
  return hasDescriptors ? `${descriptors}/${handle.fd}` : path
}

function entryOf(held: Held, name: string): string {
  return join(selfOf(held), name)
}

async function openChild(parent: Held, name: string): Promise<Held> {
  return { handle: await open(entryOf(parent, name), asFolder), path: join(parent.path, name) }
}

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

/** The path with all links resolved. If it does not exist: the real path of its folder, and its name. */
export async function realPathOf(path: string): Promise<string> {
  try {
    return await realpath(path)
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    if ((code !== 'ENOENT' && code !== 'ENOTDIR') || dirname(path) === path) throw cause
    return join(await realPathOf(dirname(path)), basename(path))
  }
}

/** The names from `folder` down to `path`; empty for the folder itself, undefined if it is outside. */
export function namesBelow(folder: string, path: string): string[] | undefined {
  const way = relative(folder, path)
  if (way === '') return []
  if (isAbsolute(way) || way === '..' || way.startsWith(`..${sep}`)) return undefined
  return way.split(sep)
}

export function readBytes(path: string): Promise<Uint8Array> {
  return readFile(path)
}

// A package contains JavaScript, and may be in a read-only place.
const isPackage = import.meta.url.endsWith('.js')

/** The launcher's download folder: the place that `scripts/launcher/places.cjs` names. */
export const runtimeFolder = isPackage
  ? join(homedir(), '.cache', 'familiar')
  : fileURLToPath(new URL('../../.runtime', import.meta.url))

/**
 * Stores all of `chunks` in a private file until they are read, once, and the caller closes it. If reading or writing
 * fails, nothing is left behind.
 */
export async function spoolFile(directory: string, chunks: AsyncIterable<Uint8Array>) {
  const path = join(directory, `.spool.${randomUUID()}.tmp`)
  const file = await open(path, 'wx+', 0o600)
  // Unlinked at once, so that no crash leaves it behind; if the system refuses, it is removed at the end.
  await rm(path).catch(() => {})
  async function close(): Promise<void> {
    await file.close()
    await rm(path, { force: true })
  }
  try {
    await file.writeFile(chunks)
  } catch (cause) {
    await close()
    throw toFileError(path, cause)
  }
  return { read: (): AsyncIterable<Uint8Array> => file.createReadStream({ start: 0, autoClose: false }), close }
}
