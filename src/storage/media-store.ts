import type { Clock } from '../base/clock.ts'
import { sha256 } from '../base/ids.ts'
import { FamiliarError } from '../protocol/errors.ts'
import type { MediaPart } from '../protocol/messages.ts'
import { type BlobStore, createDirectoryBlobs } from './blobs.ts'
import type { Database } from './database.ts'

export type MediaStore = ReturnType<typeof createMediaStore>

/** Attached files, each stored once under the hash of its content. */
export function createMediaStore(dependencies: {
  database: Database
  /** A directory in the home, which must exist. */
  directory: string
  /** The shared place of all daemons; files stored in the home earlier are still found. */
  shared?: BlobStore | undefined
  clock: Clock
  /** Removes secrets from text. */
  redact?: (bytes: Uint8Array) => Uint8Array
}) {
  const { database, shared, clock, redact = (bytes) => bytes } = dependencies
  const own = createDirectoryBlobs({ directory: dependencies.directory })
  const places = shared ? [own, shared] : [own]
  return {
    async put(file: { name: string; mediaType: string; data: Uint8Array }): Promise<MediaPart> {
      const data = redact(file.data)
      const hash = sha256(data)
      const part: MediaPart = {
        type: 'media',
        hash,
        mediaType: file.mediaType,
        name: file.name,
        bytes: data.byteLength,
      }
      const known = await database.read.selectFrom('media').select('hash').where('hash', '=', hash).executeTakeFirst()
      if (known) return part
      await (shared ?? own).put(hash, data)
      const row = { hash, media_type: file.mediaType, bytes: part.bytes, created_at: clock.now() }
      await database.write(async (writer) => {
        await writer
          .insertInto('media')
          .values(row)
          .onConflict((conflict) => conflict.doNothing())
          .execute()
      })
      return part
    },
    /** Returns only bytes that match the hash. */
    async load(hash: string): Promise<Uint8Array> {
      if (!isMediaName(hash)) throw new FamiliarError('not_found', 'There is no such file')
      let isChanged = false
      for (const place of places) {
        const bytes = await place.get(hash)
        if (bytes && sha256(bytes) === hash) return bytes
        isChanged ||= bytes !== undefined
      }
      if (isChanged) throw new FamiliarError('conflict', `The file ${hash} was changed after it was stored`)
      throw new FamiliarError('not_found', `The file ${hash} does not exist`)
    },
  }
}

/** Copies the files of this home to the shared place. Nothing is deleted here. */
export async function shareMedia(directory: string, shared: BlobStore): Promise<number> {
  const own = createDirectoryBlobs({ directory })
  const there = new Set(await Array.fromAsync(shared.list('')))
  let count = 0
  for await (const hash of own.list('')) {
    if (!isMediaName(hash) || there.has(hash)) continue
    const bytes = await own.get(hash)
    if (!bytes || sha256(bytes) !== hash) continue
    await shared.put(hash, bytes)
    count += 1
  }
  return count
}

function isMediaName(hash: string): boolean {
  return /^[0-9a-f]{64}$/.test(hash)
}
