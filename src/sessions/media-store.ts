import type { Clock } from '../base/clock.ts'
import { sha256 } from '../base/hash.ts'
import { FamiliarError } from '../protocol/error.ts'
import type { MediaPart } from '../protocol/message.ts'
import type { BlobStore } from '../storage/blobs/blob-store.ts'
import { createDirectoryBlobs } from '../storage/blobs/directory-blobs.ts'
import type { Database } from '../storage/database.ts'

/** Attached files, each stored once under its content's hash. */
export interface MediaStore {
  put(file: { name: string; mediaType: string; data: Uint8Array }): Promise<MediaPart>
  /** Only ever the bytes that the hash is of: what lies there and is something else is not given out. */
  load(hash: string): Promise<Uint8Array>
}

export function createMediaStore(dependencies: {
  database: Database
  /** In the home. It is there already. */
  directory: string
  /** Where files go instead, for all daemons; what lies in the home from before is still found. */
  shared?: BlobStore | undefined
  clock: Clock
  /** Takes secrets out of what is text. */
  redact?: (bytes: Uint8Array) => Uint8Array
}): MediaStore {
  const { database, shared, clock, redact = (bytes) => bytes } = dependencies
  const own = createDirectoryBlobs({ directory: dependencies.directory })
  const places = shared ? [own, shared] : [own]
  return {
    async put(file) {
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
    async load(hash) {
      if (!isMediaName(hash)) throw new FamiliarError('not_found', 'There is no such file')
      let isChanged = false
      for (const place of places) {
        const bytes = await place.get(hash)
        if (bytes && sha256(bytes) === hash) return bytes
        isChanged ||= bytes !== undefined
      }
      if (isChanged) throw new FamiliarError('conflict', `The file ${hash} is no longer what was stored`)
      throw new FamiliarError('not_found', `The file ${hash} is not there`)
    },
  }
}

/** Puts into the shared place what this home had before it had one. Nothing is taken away here. */
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
