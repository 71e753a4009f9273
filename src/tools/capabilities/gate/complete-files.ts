import { parseAnyJson } from '../../../base/json.ts'
import type { CapabilityFiles, CapabilityManifest } from '../capability.ts'
import { readText } from '../versions/capability-files.ts'
import { lockFile } from '../versions/lock.ts'
import { isMade, runText } from './run-text.ts'

export const skillFile = 'SKILL.md'

/**
 * The files as they become a version: without what is made anew for every version and every export, with the time of
 * the capability that they belong to, and with a RUN.md of now where nobody wrote one.
 */
export function completeFiles(
  files: CapabilityFiles,
  { manifest, firstAt }: { manifest: CapabilityManifest; firstAt: number | undefined },
): CapabilityFiles {
  const completed = new Map(files)
  completed.delete(lockFile)
  completed.delete(skillFile)
  const parsed = parseAnyJson(readText(files, 'manifest.json') ?? '{}')
  const { version, created_at, updated_at, ...written } = (parsed.ok ? parsed.value : {}) as Record<string, unknown>
  const stamped = firstAt === undefined ? written : { ...written, created_at: new Date(firstAt).toISOString() }
  completed.set('manifest.json', toBytes(`${JSON.stringify(stamped, null, 2)}\n`))
  const said = readText(files, 'RUN.md')
  if (said === undefined || isMade(said)) completed.set('RUN.md', toBytes(runText(manifest)))
  return completed
}

function toBytes(text: string): Uint8Array {
  return new TextEncoder().encode(text)
}
