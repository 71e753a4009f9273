import { z } from 'zod'
import { sha256 } from '../../../base/hash.ts'
import { type Parsed, parseAnyJson, parseJson } from '../../../base/json.ts'
import type { CapabilityFiles } from '../capability.ts'
import { readRequirements } from '../manifest/read-requirements.ts'
import { readText } from './capability-files.ts'

export const lockFile = 'lock.json'

const lockSchema = z.object({
  format: z.literal(1),
  runtime: z.enum(['python', 'node']),
  requirements: z.array(z.string()),
  files: z.record(z.string(), z.string().regex(/^[0-9a-f]{64}$/)),
  created_at: z.number(),
})
export type Lock = z.output<typeof lockSchema>

/** What a version is made of, so that a change to it is seen. */
export function makeLock(files: CapabilityFiles, createdAt: number): Lock {
  const manifest = parseAnyJson(readText(files, 'manifest.json') ?? '')
  const isNode = manifest.ok && (manifest.value as { runtime?: unknown } | null)?.runtime === 'node'
  const hashes = Array.from(files, ([path, bytes]) => [path, sha256(bytes)] as const)
  return {
    format: 1,
    runtime: isNode ? 'node' : 'python',
    requirements: readRequirements(readText(files, 'requirements.txt') ?? '').toSorted(),
    files: Object.fromEntries(hashes.sort(([a], [b]) => (a < b ? -1 : 1))),
    created_at: createdAt,
  }
}

export function lockText(lock: Lock): string {
  return `${JSON.stringify(lock, null, 2)}\n`
}

export function readLock(text: string): Parsed<Lock> {
  return parseJson(text, lockSchema)
}
