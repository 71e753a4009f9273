import { chmod, mkdir, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { type BlobStore, createDirectoryBlobs } from '../storage/blobs.ts'

/** The shared storage of several daemons for files. Absent if the home is the only place. */
export interface SharedPlace {
  /** Attached files, each under the hash of its bytes. */
  media: BlobStore
  /** The files of versions: `<capability>/<hash of its lock>/<path>`. */
  capabilities: BlobStore
}

/**
 * A remote store with a local cache: at most `mostBytes` in a directory of this daemon, least recently used leaves
 * first. A damaged file in the cache is fetched again. If the cache cannot be written, that only costs time.
 */
export function createCachedBlobs(options: {
  store: BlobStore
  directory: string
  mostBytes: number
  /** Whether the bytes match the name. */
  isSound(name: string, bytes: Uint8Array): boolean
}): BlobStore {
  const { store, directory, mostBytes, isSound } = options
  const near = createDirectoryBlobs({ directory })
  /** In order of use. */
  const sizes = new Map<string, number>()
  let total = 0
  let opening: Promise<void> | undefined

  async function open(): Promise<void> {
    await mkdir(directory, { recursive: true, mode: 0o700 })
    await chmod(directory, 0o700)
    const names = (await readdir(directory)).filter((name) => !name.startsWith('.'))
    const found = await Promise.all(names.map(async (name) => ({ name, ...(await stat(join(directory, name))) })))
    for (const { name, size } of found.sort((a, b) => a.mtimeMs - b.mtimeMs)) note(name, size)
  }

  function note(name: string, size: number): void {
    forget(name)
    sizes.set(name, size)
    total += size
  }

  function forget(name: string): void {
    total -= sizes.get(name) ?? 0
    sizes.delete(name)
  }

  async function keep(name: string, bytes: Uint8Array): Promise<void> {
    if (bytes.length > mostBytes || !isSound(name, bytes)) return
    await near.put(name, bytes)
    note(name, bytes.length)
    for (const oldest of sizes.keys()) {
      if (total <= mostBytes) break
      forget(oldest)
      await near.delete(oldest)
    }
  }

  async function find(name: string): Promise<Uint8Array | undefined> {
    const bytes = await near.get(name)
    if (bytes && isSound(name, bytes)) {
      note(name, bytes.length)
      return bytes
    }
    forget(name)
    return undefined
  }

  async function trying<T>(use: () => Promise<T>): Promise<T | undefined> {
    opening ??= open()
    return await opening.then(use).catch(() => undefined)
  }

  return {
    async put(name, bytes) {
      await store.put(name, bytes)
      await trying(() => keep(name, bytes))
    },
    async get(name) {
      const known = await trying(() => find(name))
      if (known) return known
      const bytes = await store.get(name)
      if (bytes) await trying(() => keep(name, bytes))
      return bytes
    },
    has: store.has,
    async delete(name) {
      await trying(async () => {
        forget(name)
        await near.delete(name)
      })
      await store.delete(name)
    },
    list: store.list,
  }
}
