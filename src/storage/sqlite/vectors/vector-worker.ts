import { DatabaseSync } from 'node:sqlite'
import { parentPort, workerData } from 'node:worker_threads'
import { FamiliarError } from '../../../protocol/error.ts'
import { toStorageError } from '../sqlite-error.ts'
import { createStoredVectors } from './stored-vectors.ts'
import type { VectorAnswer, VectorRequest, VectorWorkerData } from './vector-thread.ts'

const { path, ...memory } = workerData as VectorWorkerData
const raw = new DatabaseSync(path, { readOnly: true, timeout: 5000 })
raw.exec('pragma trusted_schema = off; pragma cell_size_check = on; pragma cache_size = -4000; pragma mmap_size = 0')
const stored = createStoredVectors(raw, memory)

parentPort?.on('message', ({ id, question }: VectorRequest) => {
  parentPort?.postMessage({ id, ...answer(question) } satisfies VectorAnswer)
})

function answer(question: VectorRequest['question']): Omit<VectorAnswer, 'id'> {
  try {
    return { matches: stored.search(question) }
  } catch (thrown) {
    const error = toStorageError(thrown, path)
    if (error instanceof FamiliarError) return { failure: { code: error.code, message: error.message } }
    return { failure: { code: 'internal', message: `The search by meaning failed: ${(error as Error).message}` } }
  }
}
