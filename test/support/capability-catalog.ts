import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { silentLogger } from '../../src/base/logger.ts'
import { type CapabilityCatalog, createCapabilityCatalog } from '../../src/custom-tools/built-catalog.ts'
import type { CapabilityRun } from '../../src/custom-tools/execute.ts'
import type { CapabilityManifest } from '../../src/custom-tools/manifest.ts'
import { createVersionStore } from '../../src/custom-tools/versions.ts'
import { capabilityManifest } from './capabilities.ts'
import { openMemoryStore } from './memory-store.ts'

type Publication = Parameters<CapabilityCatalog['publish']>[0]

/** A catalog over a real database and real directories, with the users `max` and `eve`, and a clock that stands still. */
export async function openCapabilityCatalog() {
  const store = await openMemoryStore()
  const { clock, ids, database } = store
  const directory = mkdtempSync(join(tmpdir(), 'familiar-catalog-'))
  const versions = createVersionStore({ directory })
  /** As another start of the program would. */
  const open = async () => {
    const opened = createCapabilityCatalog({ database, versions, clock, ids, logger: silentLogger })
    await opened.start()
    return opened
  }
  const catalog = await open()
  return {
    clock,
    ids,
    database,
    directory,
    versions,
    catalog,
    open,
    /** As if the gate had let it through. */
    publish(
      manifest: Partial<CapabilityManifest> & { name: string },
      changes: Partial<Publication> & { code?: string; notes?: string } = {},
    ) {
      const { code = 'def run(args): return "done"', notes = `# ${manifest.name}\n`, ...given } = changes
      const written = { name: manifest.name, description: manifest.description ?? '', runtime: manifest.runtime }
      const texts = { 'main.py': code, 'manifest.json': JSON.stringify(written), 'RUN.md': notes }
      return catalog.publish({
        userId: 'max',
        manifest: capabilityManifest(manifest),
        files: new Map(Object.entries(texts).map(([path, text]) => [path, Buffer.from(text)])),
        origin: 'built',
        buildId: null,
        state: 'active',
        ...given,
      })
    },
    async close() {
      await store.close()
      rmSync(directory, { recursive: true })
    },
  }
}

export type OpenCapabilityCatalog = Awaited<ReturnType<typeof openCapabilityCatalog>>

/** A call that went well and said nothing. */
export const succeededRun: CapabilityRun = {
  ok: true,
  value: '',
  text: '',
  card: null,
  error: null,
  outcome: 'succeeded',
  log: '',
  refusedHosts: [],
  durationMs: 1,
  driver: null,
}
