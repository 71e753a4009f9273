import { chmod, mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { isInside } from '../../memory/files/cite-file.ts'

/**
 * Copies of what was read, which nobody changes any more: what runs is what was looked at, whatever happens to the folder
 * of the tool meanwhile.
 */
export interface SourceStore {
  /** The folder that holds these files, by their paths in it. The same key must always stand for the same files. */
  keep(key: string, files: Iterable<readonly [path: string, file: StoredFile]>): Promise<string>
  /** Whether there is a whole copy under that key. */
  find(key: string): Promise<string | undefined>
  /** Removes what is not used any more, and what was never finished before this process began. */
  prune(isUsed: (key: string) => boolean): Promise<void>
}

interface StoredFile {
  bytes: Uint8Array
  isExecutable: boolean
}

// Between being written and being whole.
const draft = '.draft-'
/**
 * The sandbox of root takes copies of what it mounts, and a folder that cannot be written is the one that it need not look
 * through before every call: numpy has 1,500 files. Another user's is mounted where it lies, and stays removable by `rm`.
 */
const finished = 0o555
const isRoot = process.geteuid?.() === 0

export function createSourceStore({ directory }: { directory: string }): SourceStore {
  const drafts = new Set<string>()
  const store: SourceStore = {
    async keep(key, files) {
      const kept = await store.find(key)
      if (kept !== undefined) return kept
      await mkdir(directory, { recursive: true, mode: 0o755 })
      const written = await mkdtemp(join(directory, draft))
      drafts.add(basename(written))
      try {
        for (const [path, file] of files) await writeInside(written, path, file)
        await chmod(written, 0o755)
        await rename(written, join(directory, key)).catch(async (cause: NodeJS.ErrnoException) => {
          // Somebody was quicker with the same files.
          if (cause.code !== 'ENOTEMPTY' && cause.code !== 'EEXIST') throw cause
        })
        if (isRoot) await chmod(join(directory, key), finished)
      } finally {
        await rm(written, { recursive: true, force: true })
        drafts.delete(basename(written))
      }
      return join(directory, key)
    },
    async find(key) {
      const names = await readdir(directory).catch((): string[] => [])
      return names.includes(key) ? join(directory, key) : undefined
    },
    async prune(isUsed) {
      for (const name of await readdir(directory).catch((): string[] => [])) {
        if (!drafts.has(name) && !isUsed(name)) await rm(join(directory, name), { recursive: true, force: true })
      }
    },
  }
  return store
}

async function writeInside(root: string, path: string, { bytes, isExecutable }: StoredFile): Promise<void> {
  const target = join(root, path)
  if (target === root || !isInside(root, target)) throw new Error(`${path} leads out of the folder`)
  await mkdir(dirname(target), { recursive: true, mode: 0o755 })
  await writeFile(target, bytes, { mode: isExecutable ? 0o755 : 0o644, flag: 'wx' })
}
