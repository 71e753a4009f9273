import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { capabilityManifest } from '../../test/support/capabilities.ts'
import { openMemoryStore } from '../../test/support/memory-store.ts'
import { silentLogger } from '../base/logger.ts'
import { createDirectoryBlobs } from '../storage/blobs.ts'
import { createCapabilityCatalog } from './built-catalog.ts'
import { readTextFile } from './tool-folder.ts'
import { createVersionStore } from './versions.ts'

let root: string
let store: Awaited<ReturnType<typeof openMemoryStore>>
beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), 'familiar-daemons-'))
  mkdirSync(join(root, 'shared'))
  store = await openMemoryStore()
})
afterEach(async () => {
  await store.close()
  rmSync(root, { recursive: true })
})

/** A daemon with a home of its own, on the database and the place that all have. */
async function openDaemon(home: string) {
  const { database, clock, ids } = store
  const shared = createDirectoryBlobs({ directory: join(root, 'shared') })
  const versions = createVersionStore({ directory: join(root, home), shared })
  const catalog = createCapabilityCatalog({ database, versions, clock, ids, logger: silentLogger })
  await catalog.start()
  return {
    catalog,
    publish: (code: string) =>
      catalog.publish({
        userId: 'max',
        manifest: capabilityManifest({ name: 'greeter' }),
        files: new Map(Object.entries({ 'main.py': code, 'manifest.json': '{}' }).map(([k, v]) => [k, Buffer.from(v)])),
        origin: 'built',
        buildId: null,
        state: 'active',
      }),
    async code(version: number) {
      const found = await catalog.version('max', 'greeter', version)
      const reading = found && (await catalog.read(found))
      return reading?.ok ? readTextFile(reading.files, 'main.py') : reading?.problem
    },
  }
}

it('SCALE-5 daemons that publish at once get numbers of their own, and each runs the code of the other', async () => {
  const [one, two] = [await openDaemon('one'), await openDaemon('two')]
  const first = await Promise.all([one.publish('# one'), two.publish('# two')])
  const second = await Promise.all([one.publish('# one again'), two.publish('# two again')])
  const published = [...first, ...second]
  expect(new Set(published.map(({ capability }) => capability.id)).size).toBe(1)
  expect(published.map(({ version }) => version).toSorted()).toEqual([1, 2, 3, 4])
  const codes = ['# one', '# two', '# one again', '# two again']
  for (const daemon of [one, two, await openDaemon('three')]) {
    for (const [index, { version }] of published.entries()) expect(await daemon.code(version)).toBe(codes[index])
  }
})
