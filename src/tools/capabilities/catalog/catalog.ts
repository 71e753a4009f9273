import type { Json } from '../../../protocol/json.ts'
import type { Writer } from '../../../storage/database.ts'
import type {
  Capability,
  CapabilityFiles,
  CapabilityManifest,
  CapabilityOrigin,
  CapabilityState,
  CapabilityVersion,
} from '../capability.ts'
import type { CapabilityRun } from '../execute/executor.ts'
import type { VersionReading } from '../versions/read-version.ts'

/** How a capability has served. */
export interface CapabilityStatistics {
  calls: number
  failures: number
  /** Of the newest 200 calls; null where there was none. */
  medianMs: number | null
  lastCalledAt: number | null
  lastError: string | null
}

/** Why the owner might want to archive it. */
export interface RetirementProposal {
  name: string
  reason: string
}

/**
 * What capabilities there are, for each user their own (SEC-22). All of them are held in memory, so looking is free; what
 * changes is committed before it is seen. A name that is not there is undefined or `not_found`.
 */
export interface CapabilityCatalog {
  /** Reads what there is, and clears away what a crash left half done. */
  start(): Promise<void>
  find(userId: string, name: string): Capability | undefined
  /** In order of name. */
  list(userId: string, options?: { state?: CapabilityState }): readonly Capability[]
  /** The version that serves, or the named one. */
  version(userId: string, name: string, version?: number): Promise<CapabilityVersion | undefined>
  /** The versions that these lines of the catalog stand for, by the ids of the capabilities. A handful at a time. */
  versionsOf(capabilities: readonly Capability[]): Promise<ReadonlyMap<string, CapabilityVersion>>
  /** Oldest first. */
  versions(userId: string, name: string): Promise<CapabilityVersion[]>
  /** The files of a version, held against what was registered. After it they are in the version's directory. */
  read(version: CapabilityVersion): Promise<VersionReading>
  statistics(userId: string, name: string): Promise<CapabilityStatistics | undefined>

  /** In the unit that writes the build: a new one in `building`, or the one that is there, which then serves on. */
  beginBuildIn(
    writer: Writer,
    wanted: { userId: string; name: string; description: string; inputSchema: { [key: string]: Json } },
  ): Promise<Capability>
  /** In the unit that ends the build: `failed` with its reason, or back to the version that serves. */
  endBuildIn(writer: Writer, ended: { capabilityId: string; problem: string }): Promise<void>
  /** After a unit of the two above is committed. */
  refresh(capabilityId: string): Promise<void>
  /** Reads all of them again: another daemon has changed some. */
  reload(): Promise<void>

  /**
   * A new version that serves from now on. Its directory is whole before it is named in the database; `also` is written in
   * the same unit. With the id of a build that has registered already, nothing happens and that version is returned.
   */
  publish(version: {
    userId: string
    manifest: CapabilityManifest
    files: CapabilityFiles
    origin: CapabilityOrigin
    buildId: string | null
    /** `disabled` for what is imported and not yet approved. */
    state: 'active' | 'disabled'
    problem?: string
    also?(writer: Writer, version: { capabilityId: string; version: number }): Promise<void>
  }): Promise<{ capability: Capability; version: number }>

  /** An older version serves again, the one before where none is named. */
  rollback(userId: string, name: string, version?: number): Promise<Capability>
  setEnabled(userId: string, name: string, isEnabled: boolean, problem?: string): Promise<Capability>
  /** What came of a call: the statistics, and what a repair would need. Secrets are out of it already. */
  recordRun(capabilityId: string, input: Json, run: CapabilityRun): Promise<void>
  /** What the newest failed call was made with, and what it said. */
  lastFailure(userId: string, name: string): Promise<{ input: Json; error: string } | undefined>
  proposals(userId: string): Promise<RetirementProposal[]>
  /** Calls after every change, until the returned function is called. */
  onChange(listener: (userId: string) => void): () => void
}
