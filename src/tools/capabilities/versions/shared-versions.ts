import { sha256 } from '../../../base/hash.ts'
import type { BlobStore } from '../../../storage/blobs/blob-store.ts'
import type { CapabilityFiles } from '../capability.ts'
import { checkFiles, decodeText } from './capability-files.ts'
import { lockFile, readLock } from './lock.ts'

/** How a version is known to all daemons: not by its number, for which two may race, but by what it is. */
export interface SharedVersion {
  capabilityId: string
  hash: string
}

/** Puts a version, `lock.json` among its files, where other daemons find it. The lock comes last: where it is, all is. */
export async function shareVersion(shared: BlobStore, version: SharedVersion, files: CapabilityFiles): Promise<void> {
  const paths = [...files.keys()].filter((path) => path !== lockFile)
  for (const path of [...paths, lockFile]) {
    await shared.put(nameOf(version, path), files.get(path) ?? new Uint8Array())
  }
}

export async function unshareVersion(shared: BlobStore, version: SharedVersion): Promise<void> {
  for (const name of await Array.fromAsync(shared.list(`${folderOf(version)}/`))) await shared.delete(name)
}

/** The versions that are whole there, as `<capability>/<hash>`. */
export async function sharedVersions(shared: BlobStore): Promise<Set<string>> {
  const whole = new Set<string>()
  for await (const name of shared.list('')) {
    if (name.endsWith(`/${lockFile}`)) whole.add(name.slice(0, -lockFile.length - 1))
  }
  return whole
}

export function folderOf({ capabilityId, hash }: SharedVersion): string {
  return `${capabilityId}/${hash}`
}

/**
 * The files of a version from the shared place. The hash is the database's: it proves the lock, and the lock every file.
 * Where one byte differs there are no files at all (SCALE-5).
 */
export async function fetchVersion(
  shared: BlobStore,
  version: SharedVersion,
): Promise<{ ok: true; files: CapabilityFiles } | { ok: false; problem: string }> {
  const lockBytes = await shared.get(nameOf(version, lockFile))
  if (!lockBytes) return wrong('it is not in the shared place')
  if (sha256(lockBytes) !== version.hash) return wrong(`${lockFile} in the shared place is not what was registered`)
  const lock = readLock(decodeText(lockBytes) ?? '')
  if (!lock.ok) return wrong(`${lockFile} cannot be read: ${lock.message}`)
  const files = new Map<string, Uint8Array>()
  for (const [path, hash] of Object.entries(lock.value.files)) {
    const bytes = await shared.get(nameOf(version, path))
    if (!bytes) return wrong(`${path} is not in the shared place`)
    if (sha256(bytes) !== hash) return wrong(`${path} in the shared place is not what was registered`)
    files.set(path, bytes)
  }
  const [problem] = checkFiles(files)
  if (problem !== undefined) return wrong(problem)
  return { ok: true, files: files.set(lockFile, lockBytes) }

  function wrong(what: string): { ok: false; problem: string } {
    return { ok: false, problem: `A version of the capability cannot be used here: ${what}.` }
  }
}

function nameOf(version: SharedVersion, path: string): string {
  return `${folderOf(version)}/${path}`
}
