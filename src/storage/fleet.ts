import type { LaneJobs } from './lane-jobs.ts'
import type { Notices } from './notices.ts'

/** `api` takes messages in and shows what becomes of them, `worker` answers them, `all` does both. */
export type DaemonRole = 'api' | 'worker' | 'all'

/** The daemons that share one database, as one of them sees them. */
export interface Fleet {
  /** Of this daemon, for as long as it lives. */
  readonly daemonId: string
  readonly role: DaemonRole
  readonly notices: Notices
  readonly jobs: LaneJobs
  /**
   * Calls once this daemon has become the one that does what is done only once: at once, or when the one before it has
   * gone. It stays so until `lost`.
   */
  onLead(begin: () => void): void
  /**
   * Resolves with the reason when the connection by which the others see this daemon has broken. They take it for dead
   * and hand its work on, so it must stop what it does; nothing that it still writes to a turn is taken.
   */
  readonly lost: Promise<string>
  /** The others see it go. After the jobs are drained. */
  close(): Promise<void>
}
