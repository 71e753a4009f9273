import { DatabaseSync } from 'node:sqlite'
import { workerData } from 'node:worker_threads'
import { answerVectorQuestions } from '../../vectors/answer-vector-questions.ts'
import { createStoredVectors, type VectorMemory } from '../../vectors/stored-vectors.ts'
import { toStorageError } from '../sqlite-error.ts'
import { createSqliteVectorSource } from './sqlite-vector-source.ts'

export interface VectorWorkerData extends VectorMemory {
  path: string
}

const { path, ...memory } = workerData as VectorWorkerData
const raw = new DatabaseSync(path, { readOnly: true, timeout: 5000 })
raw.exec('pragma trusted_schema = off; pragma cell_size_check = on; pragma cache_size = -4000; pragma mmap_size = 0')
const stored = createStoredVectors(createSqliteVectorSource(raw), memory)
answerVectorQuestions(stored, (thrown) => toStorageError(thrown, path))
