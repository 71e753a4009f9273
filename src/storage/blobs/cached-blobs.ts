import { chmod, mkdir, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { BlobStore } from './blob-store.ts'
import { createDirectoryBlobs } from './directory-blobs.ts'

/**
 * A store that is far away, with what was used of late kept near: at most `mostBytes` in a directory of this daemon's own,
 * the longest unused leaving first. What lies there and is not sound any more is fetched again. A cache that cannot be
 * written costs time and nothing else.
 */
export function createCachedBlobs(options: {
  store: BlobStore
  directory: string
  mostBytes: number
  /** Whether these are the bytes that the name stands for. */
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
