import type { Vault } from '../../secrets/vault.ts'
import type { ToolAudit } from '../tool-audit.ts'
import type { Build, Builds } from './builds/builds.ts'
import type { Capability } from './capability.ts'
import type { CapabilityCatalog } from './catalog/catalog.ts'
import type { CapabilitySearch } from './catalog/search.ts'
import type { Registration } from './gate/gate.ts'
import type { CapabilityRuns } from './run-capability.ts'
import type { FileDifference } from './versions/diff-files.ts'

/** Everything that the ways in can ask of capabilities. Each takes the user, and knows nothing of another's (SEC-22). */
export interface Capabilities {
  catalog: CapabilityCatalog
  search: Pick<CapabilitySearch, 'search'>
  builds: Builds
  runs: CapabilityRuns
  folders: CapabilityFolders
  /** A build that mends it, with what failed last as an example (CAP-8). */
  repair(request: { userId: string; name: string; problem?: string | undefined }): Promise<Build>
  /** Without numbers, the version that serves and the one before it. */
  difference(request: {
    userId: string
    name: string
    from?: number | undefined
    to?: number | undefined
  }): Promise<VersionDifference>
  audit: Pick<ToolAudit, 'list'>
  vault: Pick<Vault, 'set' | 'names'>
}

export interface VersionDifference {
  from: number
  to: number
  /** Empty where they are the same. */
  files: readonly FileDifference[]
}

/** Folders on this machine, for its own command line alone (SEC-4). What is wrong with a folder is in the answer. */
export interface CapabilityFolders {
  /** The whole gate, and then a version that serves (CAP-4). */
  register(userId: string, directory: string, job: GateJob): Promise<Registration>
  /** Nothing of it runs: it is there, and off until its permissions are approved (CAP-9). */
  importFrom(userId: string, directory: string, signal: AbortSignal): Promise<Registration>
  /** The whole gate for what was imported, which serves from then on. */
  approve(userId: string, name: string, job: GateJob): Promise<Registration>
  /** Overwrites nothing. */
  exportTo(userId: string, name: string, directory: string): Promise<{ directory: string; files: readonly string[] }>
}

interface GateJob {
  onProgress(line: string): void
  signal: AbortSignal
}

/** Whether only the command line of this machine may let it run: it came from elsewhere and is off (CAP-9). */
export function needsApproval({ origin, state }: Pick<Capability, 'origin' | 'state'>): boolean {
  return origin === 'imported' && state === 'disabled'
}
