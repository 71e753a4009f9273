import type { Kysely, Transaction } from 'kysely'
import type { Tables } from './tables.ts'
import type { TextSearch } from './text-search.ts'
import type { VectorSearch } from './vector-search.ts'

export type Reader = Kysely<Tables>
export type Writer = Transaction<Tables>

export interface UnitOptions {
  /**
   * Where units run beside each other, this one meets another only in a row that both write, not in what it merely reads.
   * For a unit that writes the row by which it decides: whoever changes that row comes before it or after it.
   */
  meets?: 'rows'
}

/**
 * The one way to the data, the same for every engine.
 *
 * Reads see only what is committed. A unit of writing is all or nothing and durable when its promise resolves; several
 * units that wait at the same moment may share one commit, and a unit that fails takes none of the others with it.
 *
 * A unit must not wait for anything but its own statements: no model, no tool, no timer, no other unit. It may be run again
 * from its start, so it must not change anything else either.
 * A full disk rejects with code `storage_full` and leaves the database as it was; the next unit is tried afresh.
 */
export interface Database {
  readonly engine: 'sqlite' | 'postgres'
  readonly read: Reader
  readonly textSearch: TextSearch
  readonly vectorSearch: VectorSearch
  write<T>(unit: (writer: Writer) => Promise<T>, options?: UnitOptions): Promise<T>
  /** A consistent copy at `path` (which must not exist) while the database stays in use. Reports pages as it goes. */
  backup(path: string, onProgress?: (done: number, total: number) => void): Promise<void>
  sizeInBytes(): Promise<number>
  /** An empty list is a sound database. */
  checkIntegrity(): Promise<string[]>
  /**
   * Rids the file of what was deleted: no byte of it is left there, nor in the write-ahead log. Backups stay as they are.
   * It rewrites the file; reading goes on meanwhile, writing waits. (A server promises less: its log and its replicas keep
   * what they hold for as long as it says.)
   */
  scrub(signal?: AbortSignal): Promise<void>
  /** Marks the stop as clean and lets go of the files. */
  close(): Promise<void>
}
