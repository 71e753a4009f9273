import { realpath } from 'node:fs/promises'
import { hasCode, type OpenFolder, openFolder } from '../base/files.ts'
import { FamiliarError } from '../protocol/errors.ts'

/**
 * Stores names as paths below an existing directory. Links below it are never followed, because other programs may be
 * able to write there.
 */
export function createDirectoryBlobs({ directory }: { directory: string }): BlobStore {
  async function inFolder<T>(
    names: readonly string[],
    options: { make?: boolean },
    use: (folder: OpenFolder) => Promise<T>,
  ): Promise<T> {
    const root = await realpath(directory).catch((cause) => {
      throw new FamiliarError('unavailable', `${directory} does not exist`, { cause })
    })
    const folder = await openFolder(root, names, options)
    try {
      return await use(folder)
    } finally {
      await folder.close()
    }
  }

  /** Undefined if a part of the path does not exist. */
  async function at<T>(name: string, use: (folder: OpenFolder, last: string) => Promise<T>): Promise<T | undefined> {
    const { folders, last } = stepsOf(name)
    return await inFolder(folders, {}, (folder) => use(folder, last)).catch((cause: unknown) => {
      if (isMissing(cause)) return undefined
      throw cause
    })
  }

  async function* walk(folders: readonly string[]): AsyncGenerator<string> {
    const { files, below } = await inFolder(folders, {}, sorted).catch((cause: unknown) => {
      if (isMissing(cause)) return { files: [], below: [] }
      throw cause
    })
    for (const file of files) yield [...folders, file].join('/')
    for (const name of below) yield* walk([...folders, name])
  }

  return {
    async put(name, bytes) {
      const { folders, last } = stepsOf(name)
      await inFolder(folders, { make: true }, (folder) => folder.write(last, bytes))
    },
    get: (name) =>
      at(name, async (folder, last) => {
        // Checked before opening: opening a named pipe would block.
        if (!(await folder.look(last)).isFile()) return undefined
        const { bytes } = await folder.read(last, maxBlobBytes)
        if (!bytes) throw new FamiliarError('payload_too_large', `${last} is larger than the limit for stored files`)
        return bytes
      }),
    has: async (name) => (await at(name, async (folder, last) => (await folder.look(last)).isFile())) ?? false,
    async delete(name) {
      await at(name, (folder, last) => folder.remove(last))
    },
    list: (prefix) => walk(prefix === '' ? [] : needBlobName(prefix.replace(/\/$/, '')).split('/')),
  }
}

/** Files that are still being written have a hidden name. */
async function sorted(folder: OpenFolder): Promise<{ files: string[]; below: string[] }> {
  const files: string[] = []
  const below: string[] = []
  for (const name of (await folder.names()).filter(isBlobName)) {
    // Deleted since the names were read.
    const found = await folder.look(name).catch(() => undefined)
    if (found?.isFile()) files.push(name)
    if (found?.isDirectory()) below.push(name)
  }
  return { files, below }
}

function stepsOf(name: string): { folders: string[]; last: string } {
  const steps = needBlobName(name).split('/')
  return { folders: steps.slice(0, -1), last: steps.at(-1) ?? '' }
}

function isMissing(cause: unknown): boolean {
  return hasCode(cause, 'ENOENT', 'ENOTDIR')
}

/**
 * Bytes by name, in a place that several daemons may share. A blob is complete or absent, and survives a power cut once
 * the promise resolves. A name always stands for the same bytes: putting it again changes nothing. Readers compare the
 * bytes with the hash that they know, because others may be able to write to a shared place (SCALE-5).
 *
 * A place that does not answer is `unavailable`; a missing blob is undefined, and deleting it does nothing.
 */
export interface BlobStore {
  put(name: string, bytes: Uint8Array): Promise<void>
  get(name: string): Promise<Uint8Array | undefined>
  has(name: string): Promise<boolean>
  delete(name: string): Promise<void>
  /** The names that begin with `prefix`, which is empty or ends with a slash. The order is undefined. */
  list(prefix: string): AsyncIterable<string>
}

/** Far larger than anything that is stored here. */
export const maxBlobBytes = 256 * 1024 ** 2

const plainName = /^[A-Za-z0-9_][A-Za-z0-9_.-]*(?:\/[A-Za-z0-9_][A-Za-z0-9_.-]*)*$/
const maxNameLength = 500

/** Each name has one spelling, valid as a path and as a key: no `..`, no hidden names, no empty parts. */
export function isBlobName(name: string): boolean {
  return name.length <= maxNameLength && plainName.test(name)
}

export function needBlobName(name: string): string {
  if (!isBlobName(name)) throw new FamiliarError('bad_request', 'This is not a valid name for a stored file')
  return name
}

/** A folder of a store, as a store of its own. */
export function folderOf(store: BlobStore, folder: string): BlobStore {
  const inside = (name: string) => `${folder}/${needBlobName(name)}`
  return {
    put: (name, bytes) => store.put(inside(name), bytes),
    get: (name) => store.get(inside(name)),
    has: (name) => store.has(inside(name)),
    delete: (name) => store.delete(inside(name)),
    async *list(prefix) {
      for await (const name of store.list(`${folder}/${prefix}`)) yield name.slice(folder.length + 1)
    },
  }
}
