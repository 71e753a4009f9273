import { join } from 'node:path'
import type { Clock } from '../base/clock.ts'
import { sha256 } from '../base/hash.ts'
import { readBytes } from '../base/read-bytes.ts'
import { writeFileAtomically } from '../base/safe-file.ts'
import { FamiliarError } from '../protocol/error.ts'
import type { MediaPart } from '../protocol/message.ts'
import type { Database } from '../storage/database.ts'

/** Attached files, each stored once under its content's hash. */
export interface MediaStore {
  put(file: { name: string; mediaType: string; data: Uint8Array }): Promise<MediaPart>
  load(hash: string): Promise<Uint8Array>
}

export function createMediaStore(dependencies: {
  database: Database
  directory: string
  clock: Clock
  /** Takes secrets out of what is text. */
  redact?: (bytes: Uint8Array) => Uint8Array
}): MediaStore {
  const { database, directory, clock, redact = (bytes) => bytes } = dependencies
  const pathOf = (hash: string) => join(directory, hash)
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
      await writeFileAtomically(pathOf(hash), data)
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
      if (!/^[0-9a-f]{64}$/.test(hash)) throw new FamiliarError('not_found', 'There is no such file')
      return readBytes(pathOf(hash))
    },
  }
}
