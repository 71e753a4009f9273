import { mkdir, mkdtemp, open, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { syncDirectory, toFileError } from '../../../base/safe-file.ts'
import { FamiliarError } from '../../../protocol/error.ts'
import type { CapabilityFiles } from '../capability.ts'
import { foldersOf } from './capability-files.ts'

/** What has this name was never finished, or is being taken away. */
const draft = '.draft-'

/**
 * The files as a directory that is whole from the moment that it has its name; on every failure there is nothing of it. A
 * `conflict` where it is there already, unless it is to be replaced.
 */
export async function placeTree(
  target: string,
  files: CapabilityFiles,
  { replace = false }: { replace?: boolean } = {},
): Promise<void> {
  const parent = dirname(target)
  await makeFolder(dirname(parent))
  await makeFolder(parent)
  const written = await mkdtemp(join(parent, draft))
  try {
    await writeTree(written, files)
    if (replace) await removeTree(target)
    await rename(written, target)
  } catch (cause) {
    await rm(written, { recursive: true, force: true })
    if (isTaken(cause)) throw new FamiliarError('conflict', `${target} is there already`, { cause })
    throw toFileError(target, cause)
  }
  await syncDirectory(parent)
}

/** Its name is gone before the first of its files is. */
async function removeTree(target: string): Promise<void> {
  const aside = await mkdtemp(join(dirname(target), draft))
  try {
    await rename(target, join(aside, 'old'))
  } catch (cause) {
    if (!(cause instanceof Error && 'code' in cause && cause.code === 'ENOENT')) throw cause
  } finally {
    await rm(aside, { recursive: true, force: true })
  }
}

function isTaken(cause: unknown): boolean {
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined
  return code === 'ENOTEMPTY' || code === 'EEXIST'
}

/** Every file and folder reaches the disk before the name does. */
async function writeTree(root: string, files: CapabilityFiles): Promise<void> {
  const folders = [...new Set([...files.keys()].flatMap(foldersOf))].map((path) => join(root, path))
  for (const folder of folders.sort()) await makeFolder(folder)
  for (const [path, bytes] of files) {
    const file = await open(join(root, path), 'wx', 0o644)
    try {
      await file.chmod(0o644)
      await file.writeFile(bytes)
      await file.sync()
    } finally {
      await file.close()
    }
  }
  for (const folder of folders.reverse()) await syncDirectory(folder)
  const top = await open(root, 'r')
  try {
    // mkdtemp lets nobody else in.
    await top.chmod(0o755)
    await top.sync()
  } finally {
    await top.close()
  }
}

/** Whatever the umask: 0755. */
async function makeFolder(path: string): Promise<void> {
  const made = await mkdir(path, { recursive: true, mode: 0o755 })
  if (made === undefined) return
  const folder = await open(path, 'r')
  try {
    await folder.chmod(0o755)
  } finally {
    await folder.close()
  }
  await syncDirectory(dirname(path))
}
