import { Worker } from 'node:worker_threads'
import type { InspectionDepth } from './inspect-database.ts'

/** `inspectDatabase` on a file, in a thread of its own: on a large database it takes seconds. */
export function inspectFile(path: string, depth: InspectionDepth): Promise<string[]> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL('./inspect-worker.ts', import.meta.url), { workerData: { path, depth } })
    worker.once('message', resolve)
    worker.once('error', reject)
    // Has no effect once a message arrived.
    worker.once('exit', (code) => reject(new Error(`The integrity check ended early (exit code ${code}).`)))
  })
}
