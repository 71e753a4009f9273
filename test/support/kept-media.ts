import { sha256 } from '../../src/base/ids.ts'
import type { PutMedia } from '../../src/tools/builtin/message.ts'

/** Keeps what tools store, for a look at it. */
export function createKeptMedia(): { putMedia: PutMedia; files: Map<string, Uint8Array> } {
  const files = new Map<string, Uint8Array>()
  return {
    files,
    async putMedia({ name, mediaType, data }) {
      const hash = sha256(data)
      files.set(hash, data)
      return { type: 'media', hash, mediaType, name, bytes: data.length }
    },
  }
}
