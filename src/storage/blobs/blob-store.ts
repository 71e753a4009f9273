import { FamiliarError } from '../../protocol/error.ts'

/**
 * Bytes by name, in a place that several daemons may share. What is put is whole or not there, and survives a power cut
 * when the promise resolves. A name always stands for the same bytes: putting it again changes nothing, and whoever reads
 * holds what came against the hash that it knows, for a shared place can be written by others (SCALE-5).
 *
 * A place that does not answer is `unavailable`; what is not there is undefined, or nothing to delete.
 */
export interface BlobStore {
  put(name: string, bytes: Uint8Array): Promise<void>
  get(name: string): Promise<Uint8Array | undefined>
  has(name: string): Promise<boolean>
  delete(name: string): Promise<void>
  /** The names that begin with `prefix`, which is empty or ends with a slash. In no order. */
  list(prefix: string): AsyncIterable<string>
}

/** Nothing that is kept here comes near it. */
export const mostBlobBytes = 256 * 1024 ** 2

const plainName = /^[A-Za-z0-9_][A-Za-z0-9_.-]*(?:\/[A-Za-z0-9_][A-Za-z0-9_.-]*)*$/
const longestName = 500

/** One way to write each name, the same as a path and as a key: no `..`, nothing hidden, no empty step. */
export function isBlobName(name: string): boolean {
  return name.length <= longestName && plainName.test(name)
}

export function needBlobName(name: string): string {
  if (!isBlobName(name)) throw new FamiliarError('bad_request', 'This is no name under which anything is kept')
  return name
}

/** A part of a store as a store of its own. */
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
