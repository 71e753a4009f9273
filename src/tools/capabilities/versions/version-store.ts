import { mkdir, mkdtemp, open, readdir, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { sha256 } from '../../../base/hash.ts'
import { syncDirectory, toFileError } from '../../../base/safe-file.ts'
import { FamiliarError } from '../../../protocol/error.ts'
import type { CapabilityFiles } from '../capability.ts'
import { checkFiles, foldersOf } from './capability-files.ts'
import { lockFile, lockText, makeLock } from './lock.ts'
import { readVersion, type VersionReading } from './read-version.ts'
import { stampManifest } from './stamp-manifest.ts'

export interface VersionKey {
  capabilityId: string
  version: number
}

/**
 * Versions on disk, each a directory that is whole from the moment that it has its name and never changes again. Which of
 * them count is for the database to say: what it does not name is left over, and swept.
 */
export interface VersionStore {
  /** Where a version lies, whether or not it is there. */
  directoryOf(key: VersionKey): string
  /**
   * When this resolves the version survives a power cut; on every failure there is nothing of it. `manifest.json` gets the
   * number and the time, `lock.json` is added, and the hash is of every path and byte. `conflict` where it is there already.
   */
  write(
    version: VersionKey & { files: CapabilityFiles; createdAt: number },
  ): Promise<{ directory: string; hash: string }>
  /** The files, `lock.json` among them, after a look at whether they are still those that were written. */
  read(key: VersionKey): Promise<VersionReading>
  /** For a version that was never named in the database. */
  remove(key: VersionKey): Promise<void>
  /** Removes every version that is not known, and what was never finished. Only at start: nothing may be writing. */
  sweep(known: Iterable<VersionKey>): Promise<string[]>
}

const draft = '.draft-'
const isId = /^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$/

/** `directory` lies in the private home. What is inside is readable by all, since the sandbox has an account of its own. */
export function createVersionStore({ directory }: { directory: string }): VersionStore {
  function directoryOf({ capabilityId, version }: VersionKey): string {
    if (!isId.test(capabilityId) || !Number.isSafeInteger(version) || version < 1) {
      throw new FamiliarError('bad_request', 'There is no such version of a capability')
    }
    return join(directory, capabilityId, `v${version}`)
  }

  return {
    directoryOf,
    async write({ files: given, createdAt, ...key }) {
      const target = directoryOf(key)
      const problems = given.has(lockFile) ? [`${lockFile} is written with the version.`] : checkFiles(given)
      if (problems.length > 0) throw new FamiliarError('bad_request', problems.join(' '))
      const files = new Map(given)
      files.set('manifest.json', stampManifest(given, { version: key.version, createdAt }))
      const lock = new TextEncoder().encode(lockText(makeLock(files, createdAt)))
      const parent = dirname(target)
      await makeFolder(directory)
      await makeFolder(parent)
      const written = await mkdtemp(join(parent, draft))
      try {
        await writeTree(written, new Map(files).set(lockFile, lock))
        await rename(written, target)
      } catch (cause) {
        await rm(written, { recursive: true, force: true })
        if (isTaken(cause)) throw new FamiliarError('conflict', `${target} is there already`, { cause })
        throw toFileError(target, cause)
      }
      await syncDirectory(parent)
      return { directory: target, hash: sha256(lock) }
    },
    read: (key) => readVersion(directoryOf(key)),
    async remove(key) {
      await rm(directoryOf(key), { recursive: true, force: true })
    },
    async sweep(known) {
      const kept = new Set(Array.from(known, directoryOf))
      const removed: string[] = []
      const entries = await readdir(directory, { withFileTypes: true }).catch(() => [])
      // Nobody but this store writes here; what is no folder is not its own.
      for (const entry of entries.filter((one) => one.isDirectory())) {
        const folder = join(directory, entry.name)
        const names = await readdir(folder)
        const left = names.map((name) => join(folder, name)).filter((path) => !kept.has(path))
        for (const path of left) await rm(path, { recursive: true, force: true })
        removed.push(...left)
        if (left.length === names.length) await rm(folder, { recursive: true, force: true })
      }
      return removed
    },
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
