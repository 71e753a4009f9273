import { closeSync, existsSync, fsyncSync, openSync } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { backup, DatabaseSync } from 'node:sqlite'
import { syncDirectory } from '../../base/safe-file.ts'
import { FamiliarError } from '../../protocol/error.ts'
import { inspectFile } from './inspect-file.ts'
import { toStorageError } from './sqlite-error.ts'

const pagesPerStep = 512

/**
 * Copies a database that may be in use to a path that must not exist. What appears there is one whole file, checked and
 * durable; on failure nothing appears.
 */
export async function copyDatabase(options: {
  databasePath: string
  targetPath: string
  onProgress?: ((done: number, total: number) => void) | undefined
}): Promise<void> {
  const { databasePath, targetPath, onProgress } = options
  if (existsSync(targetPath)) throw new FamiliarError('conflict', `${targetPath} exists already.`)
  const partialPath = `${targetPath}.partial`
  try {
    await removePartial(partialPath)
    closeSync(openSync(partialPath, 'wx', 0o600))
    await copyPages(databasePath, partialPath, onProgress)
    makeSelfContained(partialPath)
    const problems = await inspectFile(partialPath, 'full')
    if (problems.length > 0) throw new FamiliarError('internal', `The copy is not sound: ${problems.join('; ')}`)
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
  // A connection of its own that holds one read transaction: the copy is the state of this moment, however much is
  // written meanwhile. Without it every commit would make SQLite start the copy anew.
  const source = new DatabaseSync(databasePath, { timeout: 5000 })
  try {
    source.exec('begin')
    const total = Number(source.prepare('pragma page_count').get()?.page_count)
    await backup(source, partialPath, {
      rate: pagesPerStep,
      progress: ({ remainingPages }) => onProgress?.(total - remainingPages, total),
    })
    onProgress?.(total, total)
  } finally {
    source.close()
  }
}

/** A database that says of itself that it has a write-ahead log becomes one durable file that can be carried anywhere. */
export function makeSelfContained(path: string): void {
  const raw = new DatabaseSync(path)
  try {
    raw.exec('pragma journal_mode = delete')
  } finally {
    raw.close()
  }
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
