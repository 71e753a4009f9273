import { z } from 'zod'
import { sha256 } from '../../../base/hash.ts'
import { canonicalJson, parseJson } from '../../../base/json.ts'
import type { ToolManifest } from '../manifest/manifest.ts'

/** A hash of each part that the owner's word was given for. */
const fingerprintSchema = z.object({
  description: z.string(),
  parameters: z.string(),
  trigger: z.string(),
  permissions: z.string(),
  settings: z.string(),
  code: z.string(),
})
export type Fingerprint = z.infer<typeof fingerprintSchema>

export function fingerprintOf(manifest: ToolManifest, folderHash: string): Fingerprint {
  const { description, documentation, parameters, trigger, network, limits, input, output, configuration } = manifest
  return {
    description: hash({ description, documentation }),
    parameters: hash(parameters),
    trigger: hash(trigger),
    permissions: hash({ network, isWritable: limits.isWritable, input, label: output.label }),
    settings: hash(configuration.map(({ key, isSecret }) => ({ key, isSecret }))),
    code: folderHash,
  }
}

/**
 * What has changed since the owner's word, in names for people; empty where nothing did that needs it again (SEC-14).
 *
 * What a tool is and may do (description, parameters, trigger, network, hosts, settings and secrets) always does. Its
 * code does where somebody else than the owner could have written it. In a folder that only the owner can write to, an
 * edit of the code is the owner's own: it takes effect at once, and reaches nothing that was not approved already.
 */
export function changesSince(approved: Fingerprint, now: Fingerprint, { isShared }: { isShared: boolean }): string[] {
  const parts = Object.keys(fingerprintSchema.shape) as (keyof Fingerprint)[]
  return parts.filter((part) => (part !== 'code' || isShared) && approved[part] !== now[part])
}

export function writeFingerprint(fingerprint: Fingerprint): string {
  return canonicalJson(fingerprint)
}

export function readFingerprint(text: string): Fingerprint | undefined {
  const parsed = parseJson(text, fingerprintSchema)
  return parsed.ok ? parsed.value : undefined
}

function hash(value: unknown): string {
  return sha256(canonicalJson(value))
}
