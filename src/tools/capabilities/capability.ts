import type { Json } from '../../protocol/json.ts'
import type { CapabilityRow } from '../../storage/capability-tables.ts'

export type CapabilityState = CapabilityRow['state']
export type CapabilityOrigin = CapabilityRow['origin']

/** What a capability may do beyond computing. Shown to the owner, and part of what they approve. */
export interface CapabilityPermissions {
  /** As `readHostPattern` takes them. Empty: no network. */
  hosts: readonly string[]
  /** By the names under which `context.secrets` has them. */
  secrets: readonly { name: string; description: string }[]
  /** Whether `context.storage` is kept between calls. */
  storage: boolean
}

/** What `manifest.json` of a version says, read and checked. */
export interface CapabilityManifest extends CapabilityPermissions {
  /** A slug: `weather_lookup`. The model calls it as `cap_weather_lookup`. */
  name: string
  description: string
  runtime: 'python' | 'node'
  /** JSON Schema of an object. */
  inputSchema: { [key: string]: Json }
  tags: readonly string[]
  /** How somebody would ask for it, in their own words: found by these, shown to the owner, no part of any prompt. */
  askedAs: readonly string[]
  timeoutMs: number
  memoryBytes: number
}

/** One line of the catalog. */
export interface Capability {
  id: string
  userId: string
  name: string
  description: string
  state: CapabilityState
  origin: CapabilityOrigin
  /** The one that serves; null before the first. With `building` and a version, an older one serves meanwhile. */
  version: number | null
  inputSchema: { [key: string]: Json }
  tags: readonly string[]
  permissions: CapabilityPermissions
  problem: string | null
  calls: number
  failures: number
  lastCalledAt: number | null
  lastError: string | null
  createdAt: number
  updatedAt: number
}

/** A version, whole and never changed again. */
export interface CapabilityVersion {
  capabilityId: string
  version: number
  manifest: CapabilityManifest
  /** Its directory: `main.py` or `main.js`, `manifest.json`, `requirements.txt`, `RUN.md`, `examples.json`, `lock.json`, and what else belongs to it. */
  directory: string
  hash: string
  buildId: string | null
  createdAt: number
}

/** The files of a capability by their paths, before anybody has looked at them. */
export type CapabilityFiles = ReadonlyMap<string, Uint8Array>

/** `examples.json`: at least one. */
export interface CapabilityExample {
  input: { [key: string]: Json }
  expect: { equals: Json } | { contains: string } | { matches: string } | { schema: { [key: string]: Json } }
}

/** As the model calls it. */
export function toolNameOf(name: string): string {
  return `cap_${name}`
}

/** The owner under which the vault has the secrets of a capability. */
export function secretOwnerOf(name: string): string {
  return `capability:${name}`
}
