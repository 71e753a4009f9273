import { constants, existsSync } from 'node:fs'
import { chmod, copyFile, link, open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Clock } from '../../base/clock.ts'
import { syncDirectory } from '../../base/safe-file.ts'
import { FamiliarError } from '../../protocol/error.ts'
import { allMigrations } from '../migrations/all-migrations.ts'
import type { Migration } from '../migrations/migration.ts'
import { makeSelfContained } from './copy-database.ts'
import { inspectFile } from './inspect-file.ts'
import { planSqliteMigrations } from './migrate-sqlite.ts'
import { createSqliteConnection } from './sqlite-connection.ts'
import { meansDamage, toStorageError } from './sqlite-error.ts'
import { timeForFileName } from './sqlite-files.ts'

export interface RestoreSqliteOptions {
  backupPath: string
  databasePath: string
  clock: Clock
  /** Says whether a running Familiar holds the database; then nothing is done. */
  isInUse: () => boolean | Promise<boolean>
  migrations?: readonly Migration[]
}

/**
 * Puts a checked copy of the backup in the database's place, all or nothing. The backup stays; the database of before is
 * kept aside under the path that is returned (nothing where there was none).
 */
export async function restoreSqlite(options: RestoreSqliteOptions): Promise<{ keptAside: string | undefined }> {
  const { backupPath, databasePath, clock, isInUse, migrations = allMigrations } = options
  if (await isInUse()) throw new FamiliarError('conflict', 'Familiar is running. Stop it before restoring a backup.')
  if (!existsSync(backupPath)) throw new FamiliarError('not_found', `There is no backup at ${backupPath}.`)
  const incoming = `${databasePath}.restoring`
  try {
    // The copy is what gets checked, so what was checked is what is put in place.
    await copyDurably(backupPath, incoming)
    await checkBackup(incoming, backupPath, migrations)
    const keptAside = await keepAside(databasePath, `${databasePath}.before-restore-${timeForFileName(clock.now())}`)
    await rename(incoming, databasePath)
    await syncDirectory(dirname(databasePath))
    return { keptAside }
  } catch (error) {
    for (const suffix of ['', '-journal', '-wal', '-shm']) await rm(`${incoming}${suffix}`, { force: true })
    throw toStorageError(error, databasePath)
  }
}

async function copyDurably(from: string, to: string): Promise<void> {
  await rm(to, { force: true })
  await copyFile(from, to, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE)
  await chmod(to, 0o600)
  const file = await open(to, 'r+')
  try {
    await file.sync()
  } finally {
    await file.close()
  }
}

async function checkBackup(path: string, backupPath: string, migrations: readonly Migration[]): Promise<void> {
  try {
    const raw = new DatabaseSync(path)
    try {
      const { isEmpty } = await planSqliteMigrations(createSqliteConnection(raw, path), backupPath, migrations)
      if (isEmpty) throw new FamiliarError('bad_request', `${backupPath} is empty.`)
    } finally {
      raw.close()
    }
    makeSelfContained(path)
    const problems = await inspectFile(path, 'full')
    if (problems.length > 0) throw notSound(backupPath, problems[0])
  } catch (cause) {
    if (meansDamage(cause)) throw notSound(backupPath, (cause as Error).message)
    throw cause
  }
}

function notSound(backupPath: string, problem: string | undefined): FamiliarError {
  return new FamiliarError('bad_request', `${backupPath} is damaged (${problem}). Nothing was changed.`)
}

// A write-ahead log beside a file it does not belong to would be applied to it. So it is folded into its own database
// first or, where that is too damaged, carried aside together with it. The database itself is never missing.
async function keepAside(databasePath: string, asidePath: string): Promise<string | undefined> {
  if (!existsSync(databasePath)) return undefined
  foldWriteAheadLog(databasePath)
  await link(databasePath, asidePath).catch(() => copyDurably(databasePath, asidePath))
  if (existsSync(`${databasePath}-wal`)) await rename(`${databasePath}-wal`, `${asidePath}-wal`)
  await rm(`${databasePath}-shm`, { force: true })
  await syncDirectory(dirname(databasePath))
  return asidePath
}

function foldWriteAheadLog(databasePath: string): void {
  const raw = new DatabaseSync(databasePath)
  try {
    raw.prepare('select 1 from sqlite_schema').get()
  } catch {
    // Too damaged to read: the log stays and moves along.
  } finally {
    raw.close()
  }
}
