import { Worker } from 'node:worker_threads'
import { FamiliarError } from '../../protocol/error.ts'
import { toStorageError } from './sqlite-error.ts'

/**
 * Writes the whole file anew and empties its write-ahead log, in a thread of its own: about a second for every 100 MB.
 * Nobody may write meanwhile.
 *
 * The pragma `secure_delete` overwrites what is deleted. But where SQLite moved a row to another page, the old page can
 * keep a copy of it outside its cells, which no later deletion reaches. Only a new file is free of those.
 */
export function rewriteFile(path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL('./rewrite-worker.ts', import.meta.url), { workerData: { path } })
    worker.once('message', (isEmptied: boolean) => (isEmptied ? resolve() : reject(stillInUse())))
    worker.once('error', (cause) => reject(toStorageError(cause, path)))
    // Has no effect once a message arrived.
    worker.once('exit', (code) => reject(new Error(`Rewriting the database ended early (exit code ${code}).`)))
  })
}

function stillInUse(): FamiliarError {
  const message = 'Something else reads the database, so its log still holds what was deleted. Try again in a moment.'
  return new FamiliarError('unavailable', message, { retryAfterSeconds: 10 })
}
