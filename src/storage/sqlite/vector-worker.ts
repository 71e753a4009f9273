import { DatabaseSync } from 'node:sqlite'
import { workerData } from 'node:worker_threads'
import { createStoredVectors, type VectorMemory } from '../vectors/stored-vectors.ts'
import { answerVectorQuestions } from '../vectors/threaded-vector-search.ts'
import { toStorageError } from './sqlite-error.ts'
import { createSqliteVectorSource } from './sqlite-vector-source.ts'

export interface SqliteWorkerData extends VectorMemory {
  path: string
}

const { path, ...memory } = workerData as SqliteWorkerData
const raw = new DatabaseSync(path, { readOnly: true, timeout: 5000 })
raw.exec('pragma trusted_schema = off; pragma cell_size_check = on; pragma cache_size = -4000; pragma mmap_size = 0')
const stored = createStoredVectors(createSqliteVectorSource(raw), memory)
answerVectorQuestions(stored, (thrown) => toStorageError(thrown, path))
