import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { FamiliarError } from '../../protocol/error.ts'
import type { Migration, MigrationEngine } from '../migrations/migration.ts'
import { applyMigrations, planMigrations, readAppliedMigrations } from '../migrations/run-migrations.ts'
import { copyDatabase } from './copy-database.ts'
import type { SqliteConnection } from './sqlite-connection.ts'
import { createKysely } from './sqlite-dialect.ts'
import { timeForFileName } from './sqlite-files.ts'
import { createSqliteTextIndex, indexText, replaceSqliteTextIndex } from './text-search.ts'

/** "FAMI": tells this program's files from every other SQLite database. */
const applicationId = 0x46414d49

const engine: MigrationEngine = {
  name: 'sqlite',
  createTextIndex: createSqliteTextIndex,
  replaceTextIndex: replaceSqliteTextIndex,
  indexText,
}

/** Reads only. Refuses a database of another program and one that a newer Familiar has moved on. */
export async function planSqliteMigrations(
  connection: SqliteConnection,
  shownPath: string,
  known: readonly Migration[],
): Promise<{ pending: Migration[]; isEmpty: boolean }> {
  const { raw } = connection
  const isEmpty = raw.prepare('select 1 from sqlite_schema').get() === undefined
  if (isEmpty) return { pending: [...known], isEmpty }
  const found = raw.prepare('pragma application_id').get()
  if (found?.application_id !== applicationId) {
    throw new FamiliarError('conflict', `${shownPath} is not a Familiar database. Nothing was changed.`)
  }
  return { pending: planMigrations(await readAppliedMigrations(createKysely(connection)), known), isEmpty }
}

/** All or none. `snapshotPath` gets a copy of the state before, where there is one. */
export async function migrateSqlite(options: {
  connection: SqliteConnection
  databasePath: string
  pending: readonly Migration[]
  isEmpty: boolean
  snapshotDirectory: string
  now: number
}): Promise<{ snapshotPath: string | undefined }> {
  const { connection, databasePath, pending, isEmpty, snapshotDirectory, now } = options
  if (pending.length === 0) return { snapshotPath: undefined }
  let snapshotPath: string | undefined
  if (!isEmpty) {
    mkdirSync(snapshotDirectory, { recursive: true, mode: 0o700 })
    snapshotPath = join(snapshotDirectory, `familiar-${timeForFileName(now)}-before-${pending[0]?.name}.db`)
    await copyDatabase({ databasePath, targetPath: snapshotPath })
  }
  const { raw } = connection
  // A table is rebuilt by dropping it, which would take the rows that refer to it along. Checked before the commit.
  raw.exec('pragma foreign_keys = off')
  raw.exec('begin immediate')
  try {
    raw.exec(`pragma application_id = ${applicationId}`)
    await applyMigrations({ db: createKysely(connection), engine, pending, now })
    refuseOrphans(raw)
    raw.exec('commit')
  } catch (error) {
    if (raw.isTransaction) raw.exec('rollback')
    throw error
  } finally {
    raw.exec('pragma foreign_keys = on')
  }
  return { snapshotPath }
}

function refuseOrphans(raw: DatabaseSync): void {
  const orphan = raw.prepare('pragma foreign_key_check').get()
  if (orphan) throw new FamiliarError('internal', `A migration left rows of ${orphan.table} without their parents.`)
}
