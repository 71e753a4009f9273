import { DatabaseSync } from 'node:sqlite'
import { parentPort, workerData } from 'node:worker_threads'
import { inspectDatabase } from './sqlite-error.ts'

/** Work on a whole file, which takes seconds on a large one. */
const { path, task } = workerData as { path: string; task: 'inspect' | 'rewrite' }

if (task === 'inspect') {
  const raw = new DatabaseSync(path, { readOnly: true, timeout: 5000 })
  const problems = inspectDatabase(raw, 'full')
  raw.close()
  parentPort?.postMessage(problems)
} else {
  const raw = new DatabaseSync(path, { timeout: 5000 })
  raw.exec('pragma trusted_schema = off; pragma synchronous = full; pragma secure_delete = on; vacuum')
  // Readers hold the log for a moment; a backup holds it longer, and the caller waits for it before.
  raw.exec('pragma busy_timeout = 1000')
  const log = raw.prepare('pragma wal_checkpoint(truncate)').get()
  raw.close()
  parentPort?.postMessage(log?.busy === 0)
}
