import { parseAnyJson } from '../../../base/json.ts'
import type { CapabilityFiles } from '../capability.ts'
import { readText } from './capability-files.ts'

/** `manifest.json` of a version: what its writer wrote, unknown keys too, with the number and the times that are true. */
export function stampManifest(files: CapabilityFiles, stamp: { version: number; createdAt: number }): Uint8Array {
  const parsed = parseAnyJson(readText(files, 'manifest.json') ?? '{}')
  const written = parsed.ok && parsed.value !== null && typeof parsed.value === 'object' ? parsed.value : {}
  const first = 'created_at' in written && typeof written.created_at === 'string' ? written.created_at : undefined
  const now = new Date(stamp.createdAt).toISOString()
  const stamped = { ...written, version: stamp.version, created_at: first ?? now, updated_at: now }
  return new TextEncoder().encode(`${JSON.stringify(stamped, null, 2)}\n`)
}
