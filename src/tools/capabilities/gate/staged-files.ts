import { randomUUID } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { createSourceStore } from '../../packages/source-store.ts'
import type { CapabilityFiles } from '../capability.ts'

export interface StagedFiles {
  /** A folder with these files, which nobody changes; it is gone when `use` has ended. */
  with<T>(files: CapabilityFiles, use: (directory: string) => Promise<T>): Promise<T>
}

export function createStagedFiles({ directory }: { directory: string }): StagedFiles {
  const store = createSourceStore({ directory })
  let swept: Promise<void> | undefined
  return {
    async with(files, use) {
      // Once: what a process left behind that was killed. Another that lives may be at work beside this one.
      swept ??= store.prune((key) => isOther(Number.parseInt(key, 10)))
      await swept
      const staged = Array.from(files, ([path, bytes]) => [path, { bytes, isExecutable: false }] as const)
      const folder = await store.keep(`${process.pid}-${randomUUID()}`, staged)
      try {
        return await use(folder)
      } finally {
        await rm(folder, { recursive: true, force: true })
      }
    },
  }
}

/** A process that lives. With this one's own number, it is one of before. */
function isOther(pid: number): boolean {
  try {
    return pid > 0 && pid !== process.pid && process.kill(pid, 0)
  } catch (cause) {
    return cause instanceof Error && 'code' in cause && cause.code === 'EPERM'
  }
}
