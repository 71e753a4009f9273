import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Worker } from 'node:worker_threads'
import type { Clock } from '../../base/clock.ts'
import { syncDirectory } from '../../base/files.ts'
import type { Logger } from '../../base/logger.ts'
import { FamiliarError } from '../../protocol/errors.ts'
import type { Database, VectorSearch } from '../database.ts'
import { allMigrations } from '../migrations/all-migrations.ts'
import type { Migration } from '../migrations/migration.ts'
import type { Tables } from '../tables.ts'
import {
  createThreadedVectorSearch,
  defaultVectorLimits,
  type ThreadLimits,
} from '../vectors/threaded-vector-search.ts'
import {
  createKysely,
  createSqliteConnection,
  findMissingLog,
  keepMissingLog,
  markCleanStop,
  markOpen,
  newestBackup,
  prepareDatabaseFile,
  type SqliteConnection,
  sizeOfFiles,
  stoppedUncleanly,
} from './connection.ts'
import { copyDatabase, inspectFile, migrateSqlite, planSqliteMigrations, rewriteFile } from './copy-database.ts'
import { createGroupCommit } from './group-commit.ts'
import { inspectDatabase, meansDamage, toStorageError } from './sqlite-error.ts'
import { createSqliteTextSearch } from './text-search.ts'
import type { SqliteWorkerData } from './vector-worker.ts'

export interface SqliteDatabase extends Database {
  /** The last shutdown was not clean; the file was checked and is sound. */
  readonly recoveredFromUncleanStop: boolean
  /** The write-ahead log of the killed program was missing: changes after `since` may be lost. */
  readonly missingLog: { since: number } | undefined
}

export interface OpenSqliteOptions {
  path: string
  clock: Clock
  /** Snapshots before migrations go here, and the newest backup is looked up here when the file is damaged. */
  snapshotDirectory: string
  log?: Pick<Logger, 'info'>
  /** Removes secrets from every text before it is stored. JSON must stay valid JSON. */
  redact?: (text: string) => string
  migrations?: readonly Migration[]
}

/**
 * Opens the database for its one owning process, and creates or migrates it as needed. If it is damaged, belongs to
 * another program or a newer version, rejects with a message for the user and leaves the file unchanged.
 */
export async function openSqlite(options: OpenSqliteOptions): Promise<SqliteDatabase> {
  const { path, clock, snapshotDirectory, log, migrations = allMigrations } = options
  const { created } = prepareDatabaseFile(path)
  const unclean = stoppedUncleanly(path)
  const missingLog = findMissingLog(path)
  const writer = connect(path, options.redact)
  try {
    const plan = await planSqliteMigrations(writer, path, migrations)
    const problems = unclean ? inspectDatabase(writer.raw, 'quick') : []
    if (problems.length > 0) throw damaged(path, snapshotDirectory, problems[0])
    if (missingLog) keepMissingLog(path, { ...missingLog, at: clock.now() })
    const noteCommit = markOpen(path)
    configureWriter(writer.raw)
    const migration = { ...plan, connection: writer, databasePath: path, snapshotDirectory, now: clock.now() }
    const { snapshotPath } = await migrateSqlite(migration)
    if (created) await syncDirectory(dirname(path))
    if (snapshotPath)
      log?.info('database migrated; the previous state was saved as a snapshot', { snapshot: snapshotPath })
    const reader = connect(path)
    configureReader(reader.raw)
    noteCommit()
    const onClosed = () => markCleanStop(path)
    const database = createSqliteDatabase({ path, clock, writer, reader, onCommit: noteCommit, onClosed })
    return { ...database, recoveredFromUncleanStop: unclean, missingLog }
  } catch (error) {
    writer.raw.close()
    if (meansDamage(error)) throw damaged(path, snapshotDirectory, (error as Error).message)
    if (!unclean) markCleanStop(path)
    throw toStorageError(error, path)
  }
}

/**
 * A second way into a file that a daemon may have open, for a row or two. It is neither migrated nor marked as stopped,
 * which is the daemon's to do.
 */
export function openSqliteBeside(path: string, clock: Clock): Database {
  const writer = connect(path)
  writer.raw.exec(
    'pragma synchronous = full; pragma foreign_keys = on; pragma secure_delete = on; pragma trusted_schema = off',
  )
  return createSqliteDatabase({ path, clock, writer, reader: writer })
}

function createSqliteDatabase(options: {
  path: string
  clock: Clock
  writer: SqliteConnection
  reader: SqliteConnection
  onCommit?: () => void
  onClosed?: () => void
}): Database {
  const { path, clock, writer, reader, onCommit, onClosed } = options
  const read = createKysely<Tables>(reader)
  const { write, alone, close } = createGroupCommit({ connection: writer, ...(onCommit && { onCommit }) })
  const textSearch = createSqliteTextSearch({ read, write })
  const vectorSearch = createSqliteVectorSearch({ path, clock })
  const copies = new Set<Promise<void>>()
  let closing: Promise<void> | undefined

  async function closeFiles(): Promise<void> {
    await Promise.allSettled([close(), vectorSearch.close(), ...copies])
    // The last connection merges the write-ahead log into the file, so it must be the writing one.
    if (reader !== writer) reader.raw.close()
    writer.raw.close()
    onClosed?.()
  }

  return {
    engine: 'sqlite',
    read,
    textSearch,
    vectorSearch,
    write,
    backup(targetPath, onProgress) {
      const copy = copyDatabase({ databasePath: path, targetPath, onProgress })
      copies.add(copy)
      return copy.finally(() => copies.delete(copy))
    },
    sizeInBytes: () => sizeOfFiles(path),
    checkIntegrity: () => inspectFile(path),
    async scrub(signal) {
      await textSearch.scrub(signal)
      // A running copy reads the old file and would keep its old pages.
      await Promise.allSettled(copies)
      await alone(() => rewriteFile(path))
    },
    close() {
      closing ??= closeFiles()
      return closing
    },
  }
}

function connect(path: string, redact?: (text: string) => string): SqliteConnection {
  return createSqliteConnection(new DatabaseSync(path, { timeout: busyTimeoutMs }), path, redact)
}

const busyTimeoutMs = 5000

function configureWriter(raw: DatabaseSync): void {
  raw.exec(`
    pragma journal_mode = wal;
    pragma synchronous = full;
    pragma foreign_keys = on;
    pragma secure_delete = on;
    pragma trusted_schema = off;
    pragma cell_size_check = on;
    pragma wal_autocheckpoint = 1000;
    pragma journal_size_limit = ${16 * 1024 * 1024};
    pragma cache_size = -2000;
    pragma mmap_size = 0;
  `)
}

// Memory mapping stays off: it counts as resident memory, and a read error in a mapped file kills the process.
function configureReader(raw: DatabaseSync): void {
  raw.exec(`
    pragma query_only = on;
    pragma trusted_schema = off;
    pragma cell_size_check = on;
    pragma cache_size = -4000;
    pragma mmap_size = 0;
  `)
}

function damaged(path: string, snapshotDirectory: string, problem: string | undefined): FamiliarError {
  const backup = newestBackup(snapshotDirectory)
  const advice = backup
    ? `Restore the newest backup with: familiar restore ${backup}`
    : `${snapshotDirectory} contains no backup for \`familiar restore\`.`
  return new FamiliarError('internal', `The database ${path} is damaged (${problem}). Nothing was changed. ${advice}`)
}

export function createSqliteVectorSearch(options: { path: string; clock: Clock } & ThreadLimits): VectorSearch {
  const { path, clock, idleMs, memoryBytes, exactLimit } = { ...defaultVectorLimits, ...options }
  const workerData: SqliteWorkerData = { path, memoryBytes, exactLimit }
  const { search, close } = createThreadedVectorSearch({
    startWorker: () => new Worker(new URL('./vector-worker.ts', import.meta.url), { workerData }),
    clock,
    idleMs,
  })
  return { search, close, describe: async () => 'exact scan in memory' }
}
