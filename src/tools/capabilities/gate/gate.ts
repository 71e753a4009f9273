import type { Json } from '../../../protocol/json.ts'
import type { Writer } from '../../../storage/database.ts'
import type { Capability, CapabilityFiles, CapabilityManifest, CapabilityOrigin } from '../capability.ts'

/** How one example went. */
export interface ExampleResult {
  input: Json
  ok: boolean
  /** What was expected and what came, where they differ. */
  detail: string
}

export type GateVerdict =
  | { ok: true; manifest: CapabilityManifest; requirements: readonly string[]; examples: readonly ExampleResult[] }
  /** Everything that is wrong, each in a sentence that says where and what to do. */
  | { ok: false; problems: readonly string[]; examples: readonly ExampleResult[] }

export type Registration =
  | { ok: true; capability: Capability; version: number; examples: readonly ExampleResult[] }
  | { ok: false; problems: readonly string[]; examples: readonly ExampleResult[] }

/**
 * The only way into the catalog (CAP-4). What the files say is checked, their dependencies are built, and their examples
 * run in fresh sandboxes with no more than they declare. Whatever is refused leaves the catalog as it was.
 */
export interface CapabilityGate {
  /** Without running anything of theirs: names, manifest, syntax, secrets in the code, hidden characters. */
  inspect(files: CapabilityFiles, signal: AbortSignal): Promise<GateVerdict>
  check(
    files: CapabilityFiles,
    options: {
      userId: string
      /** An input that one of the examples must have: what a repair was asked for. */
      mustTry?: Json
      onProgress?(line: string): void
      signal: AbortSignal
    },
  ): Promise<GateVerdict>
  /** `check`, and then a new version that serves from then on. A build registers once, however often it asks. */
  register(
    files: CapabilityFiles,
    options: {
      userId: string
      origin: CapabilityOrigin
      /** The name that it must have. Absent: its own, which must not be another's. */
      name?: string
      buildId?: string
      mustTry?: Json
      /** Written in the unit that makes the version serve. */
      also?(writer: Writer, version: { capabilityId: string; version: number }): Promise<void>
      onProgress?(line: string): void
      signal: AbortSignal
    },
  ): Promise<Registration>
}
