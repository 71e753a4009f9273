import { join } from 'node:path'
import type { Clock } from '../base/clock.ts'
import { sha256 } from '../base/hash.ts'
import { createGuardedFetch } from '../egress/guarded-fetch.ts'
import { type BlobStore, folderOf, mostBlobBytes } from '../storage/blobs/blob-store.ts'
import { createCachedBlobs } from '../storage/blobs/cached-blobs.ts'
import { createDirectoryBlobs } from '../storage/blobs/directory-blobs.ts'
import { type AskS3, createAskS3 } from '../storage/blobs/s3/ask-s3.ts'
import { createS3Blobs } from '../storage/blobs/s3/s3-blobs.ts'
import { bucketAddress, type S3Settings } from '../storage/blobs/s3/s3-settings.ts'
import type { SharedPlace } from '../storage/blobs/shared-place.ts'
import type { SharedSettings } from './config/read-shared.ts'

interface OpenSharedPlace extends SharedPlace {
  /** After everything that reads or writes there. */
  close(): Promise<void>
}

/** The place of `[shared]`. Nothing is asked of it yet. */
export function openSharedPlace(options: {
  settings: SharedSettings
  /** Of this daemon alone: what was fetched of late is kept there. */
  cacheDirectory: string
  clock: Clock
  random: () => number
}): OpenSharedPlace {
  const { settings, cacheDirectory } = options
  if (settings.kind === 'directory') {
    const store = createDirectoryBlobs(settings)
    return { ...partsOf(store), async close() {} }
  }
  const { ask, close } = openS3({ ...options, s3: settings.s3 })
  const parts = partsOf(createS3Blobs({ ask, prefix: () => settings.s3.prefix }))
  const media = createCachedBlobs({
    store: parts.media,
    directory: join(cacheDirectory, 'media'),
    mostBytes: settings.cacheMegabytes * 1024 ** 2,
    isSound: (name, bytes) => sha256(bytes) === name,
  })
  return { ...parts, media, close }
}

/** Requests to one bucket, which can reach its host and no other on the owner's own network. */
export function openS3(options: { s3: S3Settings; clock: Clock; random: () => number; timeoutMs?: number }): {
  ask: AskS3
  close(): Promise<void>
} {
  const { s3, clock, random, timeoutMs = 120_000 } = options
  const { hostname, port, protocol } = new URL(bucketAddress(s3))
  const allowedHosts = [{ host: hostname, port: Number(port) || (protocol === 'http:' ? 80 : 443) }]
  const fetch = createGuardedFetch({ allowedHosts, maxBytes: mostBlobBytes, timeoutMs, clock })
  return { ask: createAskS3({ settings: () => s3, fetch, clock, random }), close: fetch.close }
}

function partsOf(store: BlobStore): SharedPlace {
  return { media: folderOf(store, 'media'), capabilities: folderOf(store, 'capabilities') }
}
