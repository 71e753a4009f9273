import { statfsSync } from 'node:fs'
import { dirname } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { hasCode } from '../../base/files.ts'
import { FamiliarError } from '../../protocol/errors.ts'

// https://sqlite.org/rescode.html
const busy = 5
const inputOutput = 10
const corrupt = 11
const full = 13
const notADatabase = 26
const uniqueConstraint = 2067
const primaryKeyConstraint = 1555

/** Converts an error of SQLite or the disk to one that callers can act on. Others pass unchanged. */
export function toStorageError(error: unknown, databasePath: string): unknown {
  if (hasCode(error, 'ENOSPC', 'EDQUOT')) return storageFull(error)
  const extendedCode = sqliteCode(error)
  if (extendedCode === undefined) return error
  const cause = error
  if (extendedCode === uniqueConstraint || extendedCode === primaryKeyConstraint) {
    return new FamiliarError('conflict', 'This already exists.', { cause })
  }
  switch (extendedCode & 0xff) {
    case full:
      return storageFull(cause)
    case inputOutput:
      // If a file cannot grow, SQLite reports some failures as plain I/O errors.
      if (diskIsFull(databasePath)) return storageFull(cause)
      return new FamiliarError('unavailable', 'The disk reported an error.', { cause })
    case busy:
      return new FamiliarError('unavailable', 'The database is in use by another program.', {
        cause,
        retryAfterSeconds: 1,
      })
    default:
      return error
  }
}

/** True if the file itself is damaged or is not a database. */
export function meansDamage(error: unknown): boolean {
  const code = sqliteCode(error)
  return code !== undefined && [corrupt, notADatabase].includes(code & 0xff)
}

function sqliteCode(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('errcode' in error)) return undefined
  return typeof error.errcode === 'number' ? error.errcode : undefined
}

function storageFull(cause: unknown): FamiliarError {
  return new FamiliarError('storage_full', 'The disk is full. Nothing was lost. Free some space and try again.', {
    cause,
    retryAfterSeconds: 30,
  })
}

function diskIsFull(databasePath: string): boolean {
  try {
    const disk = statfsSync(dirname(databasePath))
    return disk.bavail * disk.bsize < 1024 * 1024
  } catch {
    return false
  }
}

/**
 * Problems of the file, for display; an empty list means a sound database. Blocks until the whole file is read. Both
 * depths include SQLite's own check of the full-text index; `quick` skips comparing indexes with their tables, which
 * reads all of both.
 */
export function inspectDatabase(raw: DatabaseSync, depth: 'quick' | 'full'): string[] {
  try {
    const pragma = depth === 'quick' ? 'quick_check' : 'integrity_check'
    const structure = raw.prepare(`pragma ${pragma}(20)`).all()
    const problems = structure.flatMap((row) => Object.values(row).map(String)).filter((line) => line !== 'ok')
    const orphans = raw.prepare('pragma foreign_key_check').all()
    for (const orphan of orphans.slice(0, 20)) {
      problems.push(`${orphan.table} row ${orphan.rowid} refers to a missing row of ${orphan.parent}`)
    }
    return problems
  } catch (error) {
    // Some damage stops the check itself.
    if (meansDamage(error)) return [(error as Error).message]
    throw error
  }
}
