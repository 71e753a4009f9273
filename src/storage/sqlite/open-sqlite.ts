import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/logger.ts'
import { syncDirectory } from '../../base/safe-file.ts'
import { FamiliarError } from '../../protocol/error.ts'
import type { Database } from '../database.ts'
import { allMigrations } from '../migrations/all-migrations.ts'
import type { Migration } from '../migrations/migration.ts'
import type { Tables } from '../tables.ts'
import { copyDatabase } from './copy-database.ts'
import { createGroupCommit } from './group-commit.ts'
import { inspectDatabase } from './inspect-database.ts'
import { inspectFile } from './inspect-file.ts'
import { migrateSqlite, planSqliteMigrations } from './migrate-sqlite.ts'
import { rewriteFile } from './rewrite-file.ts'
import { createSqliteConnection, type SqliteConnection } from './sqlite-connection.ts'
import { createKysely } from './sqlite-dialect.ts'
import { meansDamage, toStorageError } from './sqlite-error.ts'
import {
  markCleanStop,
  markOpen,
  newestBackup,
  prepareDatabaseFile,
  sizeOfFiles,
  stoppedUncleanly,
} from './sqlite-files.ts'
import { createSqliteTextSearch } from './text-search.ts'
import { createSqliteVectorSearch } from './vector-search.ts'

export interface SqliteDatabase extends Database {
  /** The last stop was not clean; the file was checked and found sound. */
  readonly recoveredFromUncleanStop: boolean
}

export interface OpenSqliteOptions {
  path: string
  clock: Clock
  /** Where a copy goes before a migration, and where the newest backup is looked for when the file is damaged. */
  snapshotDirectory: string
  log?: Pick<Logger, 'info'>
  /** Takes secrets out of every text on its way into the file. A text that is JSON must stay JSON. */
  redact?: (text: string) => string
  migrations?: readonly Migration[]
}

/**
 * Opens the database for the one process that owns it, making or migrating it as needed. Rejects with a message for the
 * user, and leaves the file as it was, when it is damaged, another program's or a newer version's.
 */
export async function openSqlite(options: OpenSqliteOptions): Promise<SqliteDatabase> {
  const { path, clock, snapshotDirectory, log, migrations = allMigrations } = options
  const { created } = prepareDatabaseFile(path)
  const unclean = stoppedUncleanly(path)
  const writer = connect(path, options.redact)
  try {
    const plan = await planSqliteMigrations(writer, path, migrations)
    if (unclean) refuseDamage(writer, path, snapshotDirectory)
    markOpen(path)
    configureWriter(writer.raw)
    const now = clock.now()
    const { snapshotPath } = await migrateSqlite({
      ...plan,
      connection: writer,
      databasePath: path,
      snapshotDirectory,
      now,
    })
    if (created) await syncDirectory(dirname(path))
    if (snapshotPath) log?.info('database migrated; the state before is kept as a snapshot', { snapshot: snapshotPath })
    const reader = connect(path)
    configureReader(reader.raw)
    return createSqliteDatabase({ path, clock, writer, reader, recoveredFromUncleanStop: unclean })
  } catch (error) {
    writer.raw.close()
    if (meansDamage(error)) throw damaged(path, snapshotDirectory, [(error as Error).message])
    if (!unclean) markCleanStop(path)
    throw toStorageError(error, path)
  }
}

function createSqliteDatabase(options: {
  path: string
  clock: Clock
  writer: SqliteConnection
  reader: SqliteConnection
  recoveredFromUncleanStop: boolean
}): SqliteDatabase {
  const { path, clock, writer, reader, recoveredFromUncleanStop } = options
  const read = createKysely<Tables>(reader)
  const { write, alone, close } = createGroupCommit({ connection: writer })
  const textSearch = createSqliteTextSearch({ read, write })
  const vectorSearch = createSqliteVectorSearch({ path, clock })
  const copies = new Set<Promise<void>>()
  let closing: Promise<void> | undefined

  async function closeFiles(): Promise<void> {
    await Promise.allSettled([close(), vectorSearch.close(), ...copies])
    // The last one to go folds the write-ahead log into the file, so it must be the one that may write.
    reader.raw.close()
    writer.raw.close()
    markCleanStop(path)
  }

  return {
    engine: 'sqlite',
    recoveredFromUncleanStop,
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
    checkIntegrity: () => inspectFile(path, 'full'),
    async scrub(signal) {
      await textSearch.scrub(signal)
      // A copy under way reads the file as it was, and would keep its old pages.
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

function refuseDamage(writer: SqliteConnection, path: string, snapshotDirectory: string): void {
  const problems = inspectDatabase(writer.raw, 'quick')
  if (problems.length > 0) throw damaged(path, snapshotDirectory, problems)
}

function damaged(path: string, snapshotDirectory: string, problems: string[]): FamiliarError {
  const backup = newestBackup(snapshotDirectory)
  const advice = backup
    ? `Go back to the newest backup with: familiar restore ${backup}`
    : `There is no backup in ${snapshotDirectory} to go back to with \`familiar restore\`.`
  return new FamiliarError(
    'internal',
    `The database ${path} is damaged (${problems[0]}). Nothing was changed. ${advice}`,
  )
}
