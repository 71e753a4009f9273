import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Agent, fetch } from 'undici'
import { systemClock } from '../../src/base/clock.ts'
import { openS3 } from '../../src/daemon/open-fleet.ts'
import { createAskS3, createS3Blobs } from '../../src/fleet/s3.ts'
import { createCachedBlobs } from '../../src/fleet/shared-files.ts'
import { createDirectoryBlobs } from '../../src/storage/blobs.ts'
import { openFakeS3, s3Keys } from '../support/shared-place/fake-s3.ts'
import { describeBlobStore } from './blob-store-contract.ts'

describeBlobStore('a directory', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'familiar-blobs-'))
  return { store: createDirectoryBlobs({ directory }), close: async () => rmSync(directory, { recursive: true }) }
})

const clock = systemClock()
const loopback = { address: '127.0.0.1', family: 4 }
const random = () => 0

async function openBucket(prefix: string) {
  const server = await openFakeS3({ bucket: 'house', region: 'eu-1' })
  const s3 = { endpoint: server.endpoint, region: 'eu-1', bucket: 'house', prefix, pathStyle: true, ...s3Keys }
  const { ask, close } = openS3({ s3, clock, random })
  return { store: createS3Blobs({ ask, prefix: () => prefix }), close: () => close().then(server.close) }
}

describeBlobStore('a bucket, by its path', () => openBucket('some/where-else_1/'))

describeBlobStore('a bucket, by its host', async () => {
  const server = await openFakeS3({ bucket: 'house' })
  const { endpoint } = server
  const settings = { endpoint, region: 'us-east-1', bucket: 'house', prefix: '', pathStyle: false, ...s3Keys }
  // No machine knows the name house.localhost of itself.
  const agent = new Agent({ connect: { lookup: (_name, _options, found) => found(null, [loopback]) } })
  const send = (url: URL, init: object) => fetch(url, { ...init, dispatcher: agent })
  const ask = createAskS3({
    settings: () => settings,
    fetch: send as unknown as typeof globalThis.fetch,
    clock,
    random,
  })
  return { store: createS3Blobs({ ask, prefix: () => '' }), close: () => agent.destroy().then(server.close) }
})

describeBlobStore('a bucket with a cache', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'familiar-cache-'))
  const { store, close } = await openBucket('')
  return {
    store: createCachedBlobs({ store, directory, mostBytes: 150_000, isSound: () => true }),
    async close() {
      await close()
      rmSync(directory, { recursive: true })
    },
  }
})
