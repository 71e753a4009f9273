import { join } from 'node:path'
import { sha256 } from '../../src/base/ids.ts'
import type { Sandbox } from '../../src/sandbox/sandbox.ts'
import type { PackagesOf } from '../../src/tools/builtin/outside-tools.ts'
import { createWorkbench } from '../../src/tools/files/workbench.ts'
import type { AssetStore } from './asset-store.ts'

type WorkbenchNeeds = Parameters<typeof createWorkbench>[0]

/** A workbench over real files. */
export function openTestWorkbench(
  store: Pick<AssetStore, 'assets' | 'untrusted' | 'makesPrompt' | 'clock' | 'home' | 'boundsOf'>,
  options: { sandbox: Pick<Sandbox, 'run' | 'makeFolder'> } & Partial<WorkbenchNeeds>,
) {
  return createWorkbench({
    ...store,
    foldersOf: () => [],
    agentOf: async () => 'main',
    putMedia: async ({ name, mediaType, data }) => {
      return { type: 'media', hash: sha256(data), name, mediaType, bytes: data.length }
    },
    activeSessions: async (ids) => new Set(ids),
    replacedDirectory: join(store.home, 'replaced-files'),
    timeZone: 'UTC',
    ...options,
  })
}

const unused = () => Promise.reject(new Error('There are no files'))

/** For users without files: only the scratch folder is mounted. */
export function fileless({
  sandbox,
  clock,
}: { sandbox: Pick<Sandbox, 'run' | 'makeFolder'> } & Pick<WorkbenchNeeds, 'clock'>) {
  return createWorkbench({
    sandbox,
    assets: { write: unused, remove: unused, trustOf: unused },
    untrusted: { add: unused },
    boundsOf: () => ({ roots: [], closed: [] }),
    makesPrompt: unused,
    foldersOf: () => [],
    agentOf: unused,
    putMedia: unused,
    activeSessions: async (ids) => new Set(ids),
    replacedDirectory: '/nowhere',
    clock,
    timeZone: 'UTC',
  })
}

export const noPackages: PackagesOf = async () => ({ ok: true, mounts: [], environment: {} })
