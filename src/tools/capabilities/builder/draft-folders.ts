import type { Ids } from '../../../base/ids.ts'
import { createSourceStore } from '../../packages/source-store.ts'
import type { CapabilityFiles } from '../capability.ts'

/** Lays files out in a folder for as long as a task needs them. Those that a crash left go with the first task after it. */
export type DraftFolders = <T>(files: CapabilityFiles, task: (directory: string) => Promise<T>) => Promise<T>

export function createDraftFolders({ directory, ids }: { directory: string; ids: Ids }): DraftFolders {
  const store = createSourceStore({ directory })
  const inUse = new Set<string>()
  return async (files, task) => {
    const key = ids.next()
    inUse.add(key)
    try {
      const stored = [...files].map(([path, bytes]) => [path, { bytes, isExecutable: false }] as const)
      return await task(await store.keep(key, stored))
    } finally {
      inUse.delete(key)
      await store.prune((one) => inUse.has(one))
    }
  }
}
