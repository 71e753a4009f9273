import { constants, existsSync, type Stats } from 'node:fs'
import { type FileHandle, lstat, mkdir, open, readdir, readlink, realpath, stat, unlink } from 'node:fs/promises'
import { basename, dirname, isAbsolute, join, relative, sep } from 'node:path'
import { writeFileAtomically } from './safe-file.ts'

/**
 * A folder that is held open: whatever happens to its path, names are looked up in it and nowhere else. No name is
 * followed where it is a link. Every method fails as the system does.
 */
export interface OpenFolder {
  names(): Promise<string[]>
  /** What a name is, without opening it: opening a device or a pipe can already do something. */
  look(name: string): Promise<Stats>
  /** All of a file, or undefined where it has more than `mostBytes`. `stat` is of what was opened. */
  read(name: string, mostBytes: number): Promise<{ stat: Stats; bytes: Uint8Array | undefined }>
  /** Whole or not at all, as `writeFileAtomically`. */
  write(name: string, content: string | Uint8Array, mode?: number): Promise<void>
  remove(name: string): Promise<void>
  /** One of its folders. The caller closes it. */
  child(name: string): Promise<OpenFolder>
  /** It still lies below the root that it was opened from: nobody has moved it out. */
  isInPlace(): Promise<boolean>
  close(): Promise<void>
}

const descriptors = '/proc/self/fd'
const hasDescriptors = existsSync(descriptors)
const asFolder = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW
const asFile = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY

/**
 * Opens the folder that `names` lead to below `root`, step by step from the root down. No step follows a link, so none
 * leads out, whoever swaps what on the way (SEC-11). With `make`, what is missing is made.
 *
 * `root` is a real path. Without /proc the steps go by path, and `isInPlace` is what tells of a swap.
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
      if (make) await makeFolder(entryOf(parent, name))
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
  const { handle, path } = held
  const entry = (name: string) => entryOf(held, name)
  return {
    names: () => readdir(selfOf(held)),
    look: (name) => lstat(entry(name)),
    async read(name, mostBytes) {
      const file = await open(entry(name), asFile)
      try {
        const found = await file.stat()
        if (found.size > mostBytes) return { stat: found, bytes: undefined }
        return { stat: found, bytes: await readAtMost(file, found.size) }
      } finally {
        await file.close()
      }
    },
    write: (name, content, mode) => writeFileAtomically(entry(name), content, mode),
    remove: (name) => unlink(entry(name)),
    child: async (name) => wrap(await openChild(held, name), root),
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

async function makeFolder(path: string): Promise<void> {
  await mkdir(path, 0o700).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code !== 'EEXIST') throw cause
  })
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

/** The path with no link left in it. Of what is not there: that of the folder it would be in, and its name. */
export async function realPathOf(path: string): Promise<string> {
  try {
    return await realpath(path)
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    if ((code !== 'ENOENT' && code !== 'ENOTDIR') || dirname(path) === path) throw cause
    return join(await realPathOf(dirname(path)), basename(path))
  }
}

/** The names from `folder` down to `path`; none for itself, undefined where it lies outside. */
export function namesBelow(folder: string, path: string): string[] | undefined {
  const way = relative(folder, path)
  if (way === '') return []
  if (isAbsolute(way) || way === '..' || way.startsWith(`..${sep}`)) return undefined
  return way.split(sep)
}
