import { realpath } from 'node:fs/promises'
import { type OpenFolder, openFolder } from '../../base/open-folder.ts'
import { FamiliarError } from '../../protocol/error.ts'
import { type BlobStore, isBlobName, mostBlobBytes, needBlobName } from './blob-store.ts'

/**
 * Names as paths below a directory, which is there already. No link below it is followed: others may be able to write
 * there, and none of them shall lead this program elsewhere.
 */
export function createDirectoryBlobs({ directory }: { directory: string }): BlobStore {
  async function inFolder<T>(
    names: readonly string[],
    options: { make?: boolean },
    use: (folder: OpenFolder) => Promise<T>,
  ): Promise<T> {
    const root = await realpath(directory).catch((cause) => {
      throw new FamiliarError('unavailable', `${directory} is not there`, { cause })
    })
    const folder = await openFolder(root, names, options)
    try {
      return await use(folder)
    } finally {
      await folder.close()
    }
  }

  /** Undefined where something on the way is not there. */
  async function at<T>(name: string, use: (folder: OpenFolder, last: string) => Promise<T>): Promise<T | undefined> {
    const { folders, last } = stepsOf(name)
    return await inFolder(folders, {}, (folder) => use(folder, last)).catch((cause: unknown) => {
      if (isMissing(cause)) return undefined
      throw cause
    })
  }

  async function* walk(folders: readonly string[]): AsyncGenerator<string> {
    const { files, below } = await inFolder(folders, {}, sorted).catch((cause: unknown) => {
      if (isMissing(cause)) return { files: [], below: [] }
      throw cause
    })
    for (const file of files) yield [...folders, file].join('/')
    for (const name of below) yield* walk([...folders, name])
  }

  return {
    async put(name, bytes) {
      const { folders, last } = stepsOf(name)
      await inFolder(folders, { make: true }, (folder) => folder.write(last, bytes))
    },
    get: (name) =>
      at(name, async (folder, last) => {
        // Looked at before it is opened: a pipe would be waited for.
        if (!(await folder.look(last)).isFile()) return undefined
        const { bytes } = await folder.read(last, mostBlobBytes)
        if (!bytes) throw new FamiliarError('payload_too_large', `${last} is too large to be what it should be`)
        return bytes
      }),
    has: async (name) => (await at(name, async (folder, last) => (await folder.look(last)).isFile())) ?? false,
    async delete(name) {
      await at(name, (folder, last) => folder.remove(last))
    },
    list: (prefix) => walk(prefix === '' ? [] : needBlobName(prefix.replace(/\/$/, '')).split('/')),
  }
}

/** What is still being written has a hidden name. */
async function sorted(folder: OpenFolder): Promise<{ files: string[]; below: string[] }> {
  const files: string[] = []
  const below: string[] = []
  for (const name of (await folder.names()).filter(isBlobName)) {
    // Gone since the names were read.
    const found = await folder.look(name).catch(() => undefined)
    if (found?.isFile()) files.push(name)
    if (found?.isDirectory()) below.push(name)
  }
  return { files, below }
}

function stepsOf(name: string): { folders: string[]; last: string } {
  const steps = needBlobName(name).split('/')
  return { folders: steps.slice(0, -1), last: steps.at(-1) ?? '' }
}

function isMissing(cause: unknown): boolean {
  return cause instanceof Error && 'code' in cause && (cause.code === 'ENOENT' || cause.code === 'ENOTDIR')
}
