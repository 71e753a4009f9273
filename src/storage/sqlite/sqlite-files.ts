import { chmodSync, closeSync, existsSync, mkdirSync, openSync, readdirSync, rmSync, statSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { FamiliarError } from '../../protocol/error.ts'

/** Makes the file if there is none, readable by its owner only. SQLite gives its side files the same mode. */
export function prepareDatabaseFile(path: string): { created: boolean } {
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    const created = !existsSync(path)
    closeSync(openSync(path, 'a+', 0o600))
    if (statSync(path).mode & 0o077) chmodSync(path, 0o600)
    return { created }
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code
    if (code === 'ENOSPC') throw new FamiliarError('storage_full', `The disk is full: no room for ${path}.`, { cause })
    throw new FamiliarError('forbidden', `${path} cannot be opened for writing (${code}).`, { cause })
  }
}

/**
 * Whether the last program that had the database open ended without closing it. The marker tells of a killed process;
 * it is not fsynced, because after a power cut the write-ahead log, whose name SQLite does fsync, tells the same.
 */
export function stoppedUncleanly(path: string): boolean {
  return existsSync(markerPath(path)) || (statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0
}

export function markOpen(path: string): void {
  closeSync(openSync(markerPath(path), 'w', 0o600))
}

export function markCleanStop(path: string): void {
  rmSync(markerPath(path), { force: true })
}

/** The youngest database in a directory of backups and snapshots. */
export function newestBackup(directory: string): string | undefined {
  if (!existsSync(directory)) return undefined
  const backups = readdirSync(directory)
    .filter((name) => name.endsWith('.db'))
    .map((name) => ({ path: join(directory, name), time: statSync(join(directory, name)).mtimeMs }))
  return backups.sort((a, b) => b.time - a.time)[0]?.path
}

/** A moment as part of a file name that sorts by time. */
export function timeForFileName(time: number): string {
  return new Date(time).toISOString().replaceAll(':', '-')
}

function markerPath(path: string): string {
  return `${path}-open`
}

/** With what is still to be folded into it. */
export async function sizeOfFiles(path: string): Promise<number> {
  const sizes = await Promise.all([path, `${path}-wal`].map((file) => stat(file).catch(() => undefined)))
  return sizes.reduce((sum, found) => sum + (found?.size ?? 0), 0)
}
