import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { sha256 } from '../../../base/hash.ts'
import { FamiliarError } from '../../../protocol/error.ts'
import type { BlobStore } from '../../../storage/blobs/blob-store.ts'
import type { CapabilityFiles } from '../capability.ts'
import { checkFiles } from './capability-files.ts'
import { lockFile, lockText, makeLock } from './lock.ts'
import { readVersion, type VersionReading } from './read-version.ts'
import { fetchVersion, folderOf, sharedVersions, shareVersion, unshareVersion } from './shared-versions.ts'
import { stampManifest } from './stamp-manifest.ts'
import { placeTree } from './write-tree.ts'

export interface VersionKey {
  capabilityId: string
  version: number
}

/** A version, and the hash that the database has of it. */
export type RegisteredVersion = VersionKey & { hash: string }

/**
 * Versions on disk, each a directory that is whole from the moment that it has its name and never changes again. Which of
 * them count is for the database to say: what it does not name is left over, and swept.
 *
 * Where daemons share a place, a version is there before it is named in the database, and a daemon that lacks it fetches it.
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
  /**
   * The files, `lock.json` among them, after a look at whether they are those that were registered. From then on they are
   * in the version's directory.
   */
  read(version: RegisteredVersion): Promise<VersionReading>
  /** For a version that was never named in the database. */
  remove(version: RegisteredVersion): Promise<void>
  /** Removes every version that is not known, and what was never finished. Only at start: nothing may be writing. */
  sweep(known: Iterable<VersionKey>): Promise<string[]>
  /** Puts into the shared place what this home had before it had one, and tells how many. */
  share(known: Iterable<RegisteredVersion>): Promise<number>
}

const isId = /^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$/

/** `directory` lies in the private home. What is inside is readable by all, since the sandbox has an account of its own. */
export function createVersionStore({
  directory,
  shared,
}: {
  directory: string
  shared?: BlobStore | undefined
}): VersionStore {
  /** What is being fetched: whoever needs it too waits for the same. */
  const fetching = new Map<string, Promise<VersionReading>>()

  function directoryOf({ capabilityId, version }: VersionKey): string {
    if (!isId.test(capabilityId) || !Number.isSafeInteger(version) || version < 1) {
      throw new FamiliarError('bad_request', 'There is no such version of a capability')
    }
    return join(directory, capabilityId, `v${version}`)
  }

  /** Held against what the database says was registered, and not only against the lock that lies beside it. */
  async function readHere(version: RegisteredVersion): Promise<VersionReading> {
    const place = directoryOf(version)
    const reading = await readVersion(place)
    if (!reading.ok || reading.hash === version.hash) return reading
    return { ok: false, problem: `${place} is no longer what was registered: ${lockFile} was changed.` }
  }

  async function bringHere(from: BlobStore, version: RegisteredVersion): Promise<VersionReading> {
    try {
      const fetched = await fetchVersion(from, version)
      if (!fetched.ok) return fetched
      await placeTree(directoryOf(version), fetched.files, { replace: true })
      return await readHere(version)
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause)
      return { ok: false, problem: `A version of the capability could not be fetched: ${reason}` }
    }
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
      files.set(lockFile, lock)
      const hash = sha256(lock)
      await placeTree(target, files)
      try {
        if (shared) await shareVersion(shared, { ...key, hash }, files)
      } catch (cause) {
        await rm(target, { recursive: true, force: true })
        throw cause
      }
      return { directory: target, hash }
    },
    async read(version) {
      const here = await readHere(version)
      if (here.ok || !shared) return here
      const name = `${directoryOf(version)} ${version.hash}`
      const bringing = fetching.get(name) ?? bringHere(shared, version).finally(() => fetching.delete(name))
      fetching.set(name, bringing)
      return await bringing
    },
    async remove(version) {
      await rm(directoryOf(version), { recursive: true, force: true })
      if (shared) await unshareVersion(shared, version)
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
    async share(known) {
      if (!shared) return 0
      const there = await sharedVersions(shared)
      let count = 0
      for (const version of known) {
        if (there.has(folderOf(version))) continue
        const here = await readHere(version)
        if (!here.ok) continue
        await shareVersion(shared, version, here.files)
        count += 1
      }
      return count
    },
  }
}
