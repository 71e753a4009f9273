import { statfsSync } from 'node:fs'
import { dirname } from 'node:path'
import { FamiliarError } from '../../protocol/error.ts'

// https://sqlite.org/rescode.html
const busy = 5
const inputOutput = 10
const corrupt = 11
const full = 13
const notADatabase = 26
const uniqueConstraint = 2067
const primaryKeyConstraint = 1555

/** What SQLite or the disk threw, as a failure that callers can act on. What has no meaning to them passes unchanged. */
export function toStorageError(error: unknown, databasePath: string): unknown {
  if (error instanceof Error && 'code' in error && (error.code === 'ENOSPC' || error.code === 'EDQUOT')) {
    return storageFull(error)
  }
  const extendedCode = sqliteCode(error)
  if (extendedCode === undefined) return error
  const cause = error
  if (extendedCode === uniqueConstraint || extendedCode === primaryKeyConstraint) {
    return new FamiliarError('conflict', 'This is stored already.', { cause })
  }
  switch (extendedCode & 0xff) {
    case full:
      return storageFull(cause)
    case inputOutput:
      // Where a file cannot grow, SQLite reports some of the failures as plain input/output errors.
      if (diskIsFull(databasePath)) return storageFull(cause)
      return new FamiliarError('unavailable', 'The disk reports an error.', { cause })
    case busy:
      return new FamiliarError('unavailable', 'The database is in use by another program.', {
        cause,
        retryAfterSeconds: 1,
      })
    default:
      return error
  }
}

/** True where the file itself is broken or is no database at all. */
export function meansDamage(error: unknown): boolean {
  const code = sqliteCode(error)
  return code !== undefined && [corrupt, notADatabase].includes(code & 0xff)
}

function sqliteCode(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('errcode' in error)) return undefined
  return typeof error.errcode === 'number' ? error.errcode : undefined
}

function storageFull(cause: unknown): FamiliarError {
  return new FamiliarError('storage_full', 'The disk is full. Nothing was lost; make room and try again.', {
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
