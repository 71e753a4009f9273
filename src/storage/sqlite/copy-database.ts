import { closeSync, constants, existsSync, fsyncSync, mkdirSync, openSync } from 'node:fs'
import { chmod, copyFile, link, open, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { backup, DatabaseSync } from 'node:sqlite'
import { Worker } from 'node:worker_threads'
import type { Clock } from '../../base/clock.ts'
import { syncDirectory } from '../../base/files.ts'
import { FamiliarError } from '../../protocol/errors.ts'
import { allMigrations } from '../migrations/all-migrations.ts'
import {
  applyMigrations,
  type Migration,
  type MigrationEngine,
  planMigrations,
  readAppliedMigrations,
} from '../migrations/migration.ts'
import {
  createKysely,
  createSqliteConnection,
  missingLogNote,
  type SqliteConnection,
  timeForFileName,
} from './connection.ts'
import { meansDamage, toStorageError } from './sqlite-error.ts'
import { createSqliteTextIndex, indexText, reindexText, replaceSqliteTextIndex } from './text-search.ts'

const pagesPerStep = 512

/**
 * Copies a database that may be in use to a path that must not exist. The result is one complete file, checked and
 * durable; on failure nothing appears.
 */
export async function copyDatabase(options: {
  databasePath: string
  targetPath: string
  onProgress?: ((done: number, total: number) => void) | undefined
}): Promise<void> {
  const { databasePath, targetPath, onProgress } = options
  if (existsSync(targetPath)) throw new FamiliarError('conflict', `${targetPath} already exists.`)
  const partialPath = `${targetPath}.partial`
  try {
    await removePartial(partialPath)
    closeSync(openSync(partialPath, 'wx', 0o600))
    await copyPages(databasePath, partialPath, onProgress)
    makeSelfContained(partialPath)
    const problems = await inspectFile(partialPath)
    if (problems.length > 0) throw new FamiliarError('internal', `The copy is damaged: ${problems.join('; ')}`)
    await rename(partialPath, targetPath)
    await syncDirectory(dirname(targetPath))
  } catch (cause) {
    await removePartial(partialPath).catch(() => {})
    throw toStorageError(cause, targetPath)
  }
}

async function copyPages(
  databasePath: string,
  partialPath: string,
  onProgress?: (done: number, total: number) => void,
): Promise<void> {
  // A separate connection that holds one read transaction: the copy is the state of this moment, whatever is written
  // meanwhile. Without it, every commit would make SQLite start the copy again.
  using source = new DatabaseSync(databasePath, { timeout: 5000 })
  source.exec('begin')
  const total = Number(source.prepare('pragma page_count').get()?.page_count)
  await backup(source, partialPath, {
    rate: pagesPerStep,
    progress: ({ remainingPages }) => onProgress?.(total - remainingPages, total),
  })
  onProgress?.(total, total)
}

/** Switches off the write-ahead log, so that the database is one durable file that can be moved anywhere. */
function makeSelfContained(path: string): void {
  using raw = new DatabaseSync(path)
  raw.exec('pragma journal_mode = delete')
  raw.close()
  const file = openSync(path, 'r+')
  try {
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}

async function removePartial(path: string): Promise<void> {
  for (const suffix of ['', '-journal', '-wal', '-shm']) await rm(`${path}${suffix}`, { force: true })
}

/** All checks of `inspectDatabase` on a file, in a worker thread: on a large database it takes seconds. */
export function inspectFile(path: string): Promise<string[]> {
  return inWorker(path, 'inspect', 'The integrity check')
}

function inWorker<T>(path: string, task: 'inspect' | 'rewrite', name: string): Promise<T> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL('./file-worker.ts', import.meta.url), { workerData: { path, task } })
    worker.once('message', resolve)
    worker.once('error', reject)
    // Has no effect once a message has arrived.
    worker.once('exit', (code) => reject(new Error(`${name} ended early (exit code ${code}).`)))
  })
}

/** "FAMI": distinguishes this program's files from other SQLite databases. */
const applicationId = 0x46414d49

const engine: MigrationEngine = {
  name: 'sqlite',
  createTextIndex: createSqliteTextIndex,
  replaceTextIndex: replaceSqliteTextIndex,
  indexText,
  reindexText,
}

/** Read-only. Rejects a database of another program and one that a newer version has migrated. */
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

/** All or nothing. `snapshotPath` receives a copy of the previous state, if there was one. */
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
  // A table is rebuilt by dropping it, which would delete the rows that refer to it. Checked before the commit.
  raw.exec('pragma foreign_keys = off')
  raw.exec('begin immediate')
  try {
    raw.exec(`pragma application_id = ${applicationId}`)
    await applyMigrations({ db: createKysely(connection), engine, pending, now })
    const orphan = raw.prepare('pragma foreign_key_check').get()
    if (orphan)
      throw new FamiliarError('internal', `A migration left rows of ${orphan.table} without their parent rows.`)
    raw.exec('commit')
  } catch (error) {
    if (raw.isTransaction) raw.exec('rollback')
    throw error
  } finally {
    raw.exec('pragma foreign_keys = on')
  }
  return { snapshotPath }
}

export interface RestoreSqliteOptions {
  backupPath: string
  databasePath: string
  clock: Clock
  /** Returns true if a running Familiar holds the database; then nothing is done. */
  isInUse: () => boolean | Promise<boolean>
  migrations?: readonly Migration[]
}

/**
 * Replaces the database with a checked copy of the backup, all or nothing. The backup stays. The old database is kept
 * under the returned path (undefined if there was none).
 */
export async function restoreSqlite(options: RestoreSqliteOptions): Promise<{ keptAside: string | undefined }> {
  const { backupPath, databasePath, clock, isInUse, migrations = allMigrations } = options
  if (await isInUse()) throw new FamiliarError('conflict', 'Familiar is running. Stop it before restoring a backup.')
  if (!existsSync(backupPath)) throw new FamiliarError('not_found', `There is no backup at ${backupPath}.`)
  const incoming = `${databasePath}.restoring`
  try {
    // The copy is checked, not the original, so the checked bytes are the ones that are installed.
    await copyDurably(backupPath, incoming)
    await checkBackup(incoming, backupPath, migrations)
    const keptAside = await keepAside(databasePath, `${databasePath}.before-restore-${timeForFileName(clock.now())}`)
    await rename(incoming, databasePath)
    await rm(missingLogNote(databasePath), { force: true })
    await syncDirectory(dirname(databasePath))
    return { keptAside }
  } catch (error) {
    await removePartial(incoming)
    throw toStorageError(error, databasePath)
  }
}

async function copyDurably(from: string, to: string): Promise<void> {
  await rm(to, { force: true })
  await copyFile(from, to, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE)
  await chmod(to, 0o600)
  await using file = await open(to, 'r+')
  await file.sync()
}

async function checkBackup(path: string, backupPath: string, migrations: readonly Migration[]): Promise<void> {
  try {
    await refuseEmpty()
    makeSelfContained(path)
    const problems = await inspectFile(path)
    if (problems.length > 0) throw notSound(backupPath, problems[0])
  } catch (cause) {
    if (meansDamage(cause)) throw notSound(backupPath, (cause as Error).message)
    throw cause
  }

  async function refuseEmpty(): Promise<void> {
    using raw = new DatabaseSync(path)
    const { isEmpty } = await planSqliteMigrations(createSqliteConnection(raw, path), backupPath, migrations)
    if (isEmpty) throw new FamiliarError('bad_request', `${backupPath} is empty.`)
  }
}

function notSound(backupPath: string, problem: string | undefined): FamiliarError {
  return new FamiliarError('bad_request', `${backupPath} is damaged (${problem}). Nothing was changed.`)
}

// A write-ahead log beside a file that it does not belong to would be applied to it. So it is merged into its own
// database first, or moved aside with it if that is too damaged. The database itself is never missing.
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
  using raw = new DatabaseSync(databasePath)
  try {
    raw.prepare('select 1 from sqlite_schema').get()
  } catch {
    // Too damaged to read: the log moves along with it.
  }
}

/**
 * Rewrites the whole file and empties its write-ahead log, in a worker thread: about a second per 100 MB. No writes may
 * happen meanwhile.
 *
 * The pragma `secure_delete` overwrites deleted data. But if SQLite moved a row to another page, the old page can keep
 * a copy outside its cells, which no later deletion reaches. Only a new file is free of those.
 */
export async function rewriteFile(path: string): Promise<void> {
  const isEmptied = await inWorker<boolean>(path, 'rewrite', 'Rewriting the database').catch((cause) => {
    throw toStorageError(cause, path)
  })
  if (isEmptied) return
  const message =
    'Another program is reading the database, so its log still contains deleted data. Try again in a moment.'
  throw new FamiliarError('unavailable', message, { retryAfterSeconds: 10 })
}
