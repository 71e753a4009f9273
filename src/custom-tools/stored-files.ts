import { randomUUID } from 'node:crypto'
import { chmod, mkdir, mkdtemp, open, readdir, rename, rm } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { hasCode, syncDirectory, toFileError } from '../base/files.ts'
import { isInside } from '../memory/files/index-files.ts'
import { parentFolders } from './tool-folder.ts'

/** By their paths in the folder. */
type StoredFiles = Iterable<readonly [path: string, bytes: Uint8Array, isExecutable?: boolean]>

/** An entry with such a name was never finished, or is being removed. This process has its own. */
const draft = `.draft-${randomUUID()}-`

/**
 * The files as a directory that is whole from the moment that it has its name; on every failure there is nothing of it.
 * False where there is one already, unless `replace` is set. With `durable`, it survives a power cut.
 */
export async function placeTree(
  target: string,
  files: StoredFiles,
  { replace = false, durable = false } = {},
): Promise<boolean> {
  const parent = dirname(target)
  const written = await mkdtemp(join(parent, draft))
  try {
    await writeTree(written, files, durable)
    if (replace) await removeTree(target)
    const isPlaced = await rename(written, target).then(
      () => true,
      (cause: unknown) => {
        if (hasCode(cause, 'ENOTEMPTY', 'EEXIST')) return false
        throw cause
      },
    )
    if (isPlaced && durable) await syncDirectory(parent)
    return isPlaced
  } catch (cause) {
    throw toFileError(target, cause)
  } finally {
    await rm(written, { recursive: true, force: true })
  }
}

/** Readable by all, whatever the umask. With `durable`, every file and folder reaches the disk before the name does. */
async function writeTree(root: string, files: StoredFiles, durable: boolean): Promise<void> {
  const folders = new Set<string>()
  for (const [path, bytes, isExecutable = false] of files) {
    const target = join(root, path)
    if (target === root || !isInside(root, target)) throw new Error(`${path} leads out of the folder`)
    for (const folder of parentFolders(relative(root, target)).map((inner) => join(root, inner))) {
      if (folders.has(folder)) continue
      folders.add(folder)
      await mkdir(folder)
      await chmod(folder, 0o755)
    }
    const mode = isExecutable ? 0o755 : 0o644
    await using file = await open(target, 'wx', mode)
    await file.chmod(mode)
    await file.writeFile(bytes)
    if (durable) await file.sync()
  }
  // mkdtemp allows only the owner.
  await chmod(root, 0o755)
  if (durable) for (const folder of [...folders, root]) await syncDirectory(folder)
}

/** Its name is gone before the first of its files is. */
async function removeTree(target: string): Promise<void> {
  const aside = await mkdtemp(join(dirname(target), draft))
  try {
    await rename(target, join(aside, 'old'))
  } catch (cause) {
    if (!hasCode(cause, 'ENOENT')) throw cause
  } finally {
    await rm(aside, { recursive: true, force: true })
  }
}

/** Whatever the umask: 0755. */
export async function makeFolder(path: string): Promise<void> {
  const made = await mkdir(path, { recursive: true, mode: 0o755 })
  if (made === undefined) return
  await chmod(path, 0o755)
  await syncDirectory(dirname(path))
}

/**
 * The sandbox of root takes copies of what it mounts, and a folder that cannot be written is the one that it need not look
 * through before every call: numpy has 1,500 files. Another user's is mounted where it lies, and stays removable by `rm`.
 */
const finished = 0o555
const isRoot = process.geteuid?.() === 0

export type SourceStore = ReturnType<typeof createSourceStore>

/** Immutable copies of tool folders: the copy that was checked is the one that runs, whatever happens to the folder. */
export function createSourceStore({ directory }: { directory: string }) {
  const held = new Map<string, number>()
  const store = {
    /** The folder that holds these files. The same key must always stand for the same files. */
    async keep(key: string, files: StoredFiles): Promise<string> {
      const kept = await store.find(key)
      if (kept !== undefined) return kept
      await makeFolder(directory)
      const target = join(directory, key)
      // Another process may be faster with the same files.
      await placeTree(target, files)
      if (isRoot) await chmod(target, finished)
      return target
    },
    /** Whether there is a whole copy under that key. */
    async find(key: string): Promise<string | undefined> {
      const names = await readdir(directory).catch((): string[] => [])
      return names.includes(key) ? join(directory, key) : undefined
    },
    /** For the time of the work, no copy whose key begins like this is pruned. */
    async hold<T>(start: string, work: () => Promise<T>): Promise<T> {
      held.set(start, (held.get(start) ?? 0) + 1)
      try {
        return await work()
      } finally {
        const left = (held.get(start) ?? 1) - 1
        if (left > 0) held.set(start, left)
        else held.delete(start)
      }
    },
    /** Removes every copy that is neither used nor held, and drafts of an earlier process. */
    async prune(isUsed: (key: string) => boolean): Promise<void> {
      const isHeld = (name: string) => [...held.keys()].some((start) => name.startsWith(start))
      for (const name of await readdir(directory).catch((): string[] => [])) {
        if (name.startsWith(draft) || isHeld(name) || isUsed(name)) continue
        await rm(join(directory, name), { recursive: true, force: true })
      }
    },
  }
  return store
}

/** Lays files out in a folder for the time of a task. The first task also removes what a killed process left. */
export function createStagedFiles({ directory }: { directory: string }) {
  const store = createSourceStore({ directory })
  let swept: Promise<void> | undefined
  return async <T>(files: ReadonlyMap<string, Uint8Array>, task: (directory: string) => Promise<T>): Promise<T> => {
    // Another process may be at work beside this one.
    swept ??= store.prune((key) => isOtherProcess(Number.parseInt(key, 10)))
    await swept
    const folder = await store.keep(`${process.pid}-${randomUUID()}`, files)
    try {
      return await task(folder)
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  }
}

/** Whether another process of this number is alive. With this one's own number, it is an earlier one. */
function isOtherProcess(pid: number): boolean {
  try {
    return pid > 0 && pid !== process.pid && process.kill(pid, 0)
  } catch (cause) {
    return hasCode(cause, 'EPERM')
  }
}
