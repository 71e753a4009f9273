import { FamiliarError } from '../../../protocol/error.ts'
import type { CapabilityCatalog } from '../catalog/catalog.ts'
import { decodeText } from '../versions/capability-files.ts'
import { lockFile } from '../versions/lock.ts'

/** What a repair begins with: the files of the version that serves. A `conflict` where a Builder cannot mend them. */
export async function readServedFiles(
  catalog: Pick<CapabilityCatalog, 'version' | 'read'>,
  userId: string,
  name: string,
): Promise<Map<string, string>> {
  const version = await catalog.version(userId, name)
  if (!version) throw new FamiliarError('conflict', `${name} has no version that could be repaired`)
  const reading = await catalog.read(version)
  if (!reading.ok) throw new FamiliarError('conflict', reading.problem)
  const files = new Map<string, string>()
  for (const [path, bytes] of reading.files) {
    if (path === lockFile) continue
    const text = decodeText(bytes)
    // Left out it would be gone from the new version, and the Builder cannot write it.
    if (text === undefined) throw new FamiliarError('conflict', `${path} of ${name} is no text: mend it by hand`)
    files.set(path, text)
  }
  return files
}
