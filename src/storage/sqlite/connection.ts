import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import {
  type CompiledQuery,
  type Kysely,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely'
import { z } from 'zod'
import { parseJson } from '../../base/json.ts'
import { FamiliarError } from '../../protocol/errors.ts'
import { createEngine } from '../database.ts'
import { toStorageError } from './sqlite-error.ts'

/** Creates the file if needed, readable by its owner only. SQLite gives its side files the same mode. */
export function prepareDatabaseFile(path: string): { created: boolean } {
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    const created = !existsSync(path)
    closeSync(openSync(path, 'a+', 0o600))
    if (statSync(path).mode & 0o077) chmodSync(path, 0o600)
    return { created }
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code
    if (code === 'ENOSPC') throw new FamiliarError('storage_full', `The disk is full: no space for ${path}.`, { cause })
    throw new FamiliarError('forbidden', `${path} cannot be opened for writing (${code}).`, { cause })
  }
}

/**
 * Whether the last program that had the database open ended without closing it. The marker detects a killed process; it
 * is not fsynced, because after a power cut the write-ahead log, whose name SQLite does fsync, shows the same.
 */
export function stoppedUncleanly(path: string): boolean {
  return existsSync(markerPath(path)) || sizeOfLog(path) > 0
}

/** State of the database file after the last commit. */
const markSchema = z.object({
  size: z.number(),
  modified: z.number(),
  /** The last commit is in the write-ahead log only. */
  isPending: z.boolean(),
})

/**
 * Marks the database as open. The marker also records whether the last commits are in the write-ahead log only, so that
 * a start after a crash can tell whether that log is missing. It costs two stat calls per commit, and a write only
 * after a checkpoint. A marker that is too old or empty means nothing.
 */
export function markOpen(path: string) {
  writeFileSync(markerPath(path), '', { mode: 0o600 })
  let mark: z.infer<typeof markSchema> | undefined
  let log = ''

  function keep(next: z.infer<typeof markSchema>): void {
    mark = next
    writeFileSync(markerPath(path), JSON.stringify(next))
  }

  function note(): void {
    const found = look(path)
    if (!found) return
    const foundLog = look(`${path}-wal`)
    const logText = JSON.stringify(foundLog)
    const wasWritten = foundLog !== undefined && logText !== log
    log = logText
    if (mark?.size !== found.size || mark.modified !== found.modified) keep({ ...found, isPending: false })
    else if (wasWritten && !mark.isPending) keep({ ...found, isPending: true })
  }

  /** Must be called once the database is open, and after every commit. */
  return () => {
    try {
      note()
    } catch {
      // A marker that cannot be written must not fail a commit.
    }
  }
}

/**
 * If the last program was killed with commits in the write-ahead log only, and the log is missing while the database is
 * unchanged: the time of the last change that it contains. SQLite opens such a file without an error.
 */
export function findMissingLog(path: string): { since: number } | undefined {
  if (sizeOfLog(path) > 0) return undefined
  const mark = readJson(markerPath(path), markSchema)
  const found = look(path)
  // Another program that opened it, a restored backup and a copy all change the file: then nothing is reported.
  if (!mark?.isPending || found?.size !== mark.size) return undefined
  // A copy that keeps times may round them down by one.
  return Math.abs(found.modified - mark.modified) <= 1 ? { since: found.modified } : undefined
}

const missingSchema = z.object({ since: z.number(), at: z.number() })

/** Kept beside the database for `familiar doctor` until the user removes it or restores a backup. */
export function missingLogNote(path: string): string {
  return `${path}-log-missing`
}

export function keepMissingLog(path: string, missing: z.infer<typeof missingSchema>): void {
  writeFileSync(missingLogNote(path), `${JSON.stringify(missing)}\n`, { mode: 0o600 })
}

export function readMissingLog(path: string): z.infer<typeof missingSchema> | undefined {
  return readJson(missingLogNote(path), missingSchema)
}

function look(path: string): { size: number; modified: number } | undefined {
  const found = statSync(path, { throwIfNoEntry: false })
  // Whole milliseconds: not every copy program keeps more.
  return found && { size: found.size, modified: Math.floor(found.mtimeMs) }
}

function sizeOfLog(path: string): number {
  return statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0
}

function readJson<T>(path: string, schema: z.ZodType<T>): T | undefined {
  try {
    const read = parseJson(readFileSync(path, 'utf8'), schema)
    return read.ok ? read.value : undefined
  } catch {
    return undefined
  }
}

export function markCleanStop(path: string): void {
  rmSync(markerPath(path), { force: true })
}

/** The newest database in a directory of backups and snapshots. */
export function newestBackup(directory: string): string | undefined {
  if (!existsSync(directory)) return undefined
  const backups = readdirSync(directory)
    .filter((name) => name.endsWith('.db'))
    .map((name) => ({ path: join(directory, name), time: statSync(join(directory, name)).mtimeMs }))
  return backups.sort((a, b) => b.time - a.time)[0]?.path
}

/** A time in a form for file names that sorts by time. */
export function timeForFileName(time: number): string {
  return new Date(time).toISOString().replaceAll(':', '-')
}

function markerPath(path: string): string {
  return `${path}-open`
}

/** Including the write-ahead log. */
export async function sizeOfFiles(path: string): Promise<number> {
  const sizes = await Promise.all([path, `${path}-wal`].map((file) => stat(file).catch(() => undefined)))
  return sizes.reduce((sum, found) => sum + (found?.size ?? 0), 0)
}

export type SqliteConnection = ReturnType<typeof createSqliteConnection>

// Much larger than the number of queries in the program; lists of changing length (`in (?, ?, …)`) are evicted.
const statementLimit = 256

export function createSqliteConnection(
  raw: DatabaseSync,
  path: string,
  /** Removes secrets from every text that is bound to a statement: all writes pass here (SEC-13). */
  redact?: (text: string) => string,
) {
  const statements = new Map<string, { statement: StatementSync; returnsRows: boolean }>()

  function prepare(sql: string) {
    const known = statements.get(sql)
    if (known) {
      // Moves it to the end of the map, so that used statements stay.
      statements.delete(sql)
      statements.set(sql, known)
      return known
    }
    const statement = raw.prepare(sql)
    const fresh = { statement, returnsRows: statement.columns().length > 0 }
    statements.set(sql, fresh)
    if (statements.size > statementLimit) statements.delete(statements.keys().next().value ?? '')
    return fresh
  }

  return {
    raw,
    /** Runs to completion before it returns, so statements of one connection never overlap. */
    execute({ sql, parameters }: Pick<CompiledQuery, 'sql' | 'parameters'>): QueryResult<unknown> {
      try {
        const { statement, returnsRows } = prepare(sql)
        const given = parameters as SQLInputValue[]
        const values = redact ? given.map((value) => (typeof value === 'string' ? redact(value) : value)) : given
        if (returnsRows) return { rows: statement.all(...values) }
        const { changes, lastInsertRowid } = statement.run(...values)
        return { rows: [], numAffectedRows: BigInt(changes), insertId: BigInt(lastInsertRowid) }
      } catch (cause) {
        throw toStorageError(cause, path)
      }
    },
  }
}

const engine = createEngine({
  adapter: new SqliteAdapter(),
  compiler: new SqliteQueryCompiler(),
  introspect: (db) => new SqliteIntrospector(db),
})

export const { createTransaction } = engine

/** Queries directly on the connection, without transactions of its own: those belong to its creator. */
export function createKysely<DB>({ execute }: SqliteConnection): Kysely<DB> {
  return engine.createKysely<DB>(execute)
}
