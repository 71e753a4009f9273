import type { BlobStore } from './blob-store.ts'

/** Where several daemons keep what is no row of the database. Absent where the home is the only place. */
export interface SharedPlace {
  /** Attached files, each under the hash of its bytes. */
  media: BlobStore
  /** The files of versions: `<capability>/<hash of its lock>/<path>`. */
  capabilities: BlobStore
}
