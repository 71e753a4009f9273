import { sha256 } from '../../../base/hash.ts'
import { readToolFolder } from '../../contract/folder/read-tool-folder.ts'
import type { CapabilityFiles } from '../capability.ts'
import { decodeText } from './capability-files.ts'
import { type Lock, lockFile, readLock } from './lock.ts'

export type VersionReading =
  | { ok: true; directory: string; files: CapabilityFiles; lock: Lock; hash: string }
  /** Which file is not what it was, or what is missing. */
  | { ok: false; problem: string }

/** A version as it lies on disk, held against its lock. */
export async function readVersion(directory: string): Promise<VersionReading> {
  const reading = await readToolFolder(directory, { isPrivate: true })
  if (!reading.ok) return reading
  const files = new Map(reading.folder.files.map(({ path, bytes }) => [path, bytes]))
  const lockBytes = files.get(lockFile)
  if (lockBytes === undefined) return wrong(`${lockFile} is missing`)
  const lock = readLock(decodeText(lockBytes) ?? '')
  if (!lock.ok) return wrong(`${lockFile} cannot be read: ${lock.message}`)
  const locked = new Map(Object.entries(lock.value.files))
  const added = [...files.keys()].find((path) => path !== lockFile && !locked.has(path))
  if (added !== undefined) return wrong(`${added} was added`)
  for (const [path, hash] of locked) {
    const bytes = files.get(path)
    if (bytes === undefined) return wrong(`${path} is missing`)
    if (sha256(bytes) !== hash) return wrong(`${path} was changed`)
  }
  return { ok: true, directory, files, lock: lock.value, hash: sha256(lockBytes) }

  function wrong(what: string): VersionReading {
    return { ok: false, problem: `${directory} is no longer what was registered: ${what}.` }
  }
}
