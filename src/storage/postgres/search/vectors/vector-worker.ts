import { workerData } from 'node:worker_threads'
import pg from 'pg'
import { answerVectorQuestions } from '../../../vectors/answer-vector-questions.ts'
import { createStoredVectors, type VectorMemory } from '../../../vectors/stored-vectors.ts'
import { toStorageError } from '../../postgres-error.ts'
import { createPostgresVectorSource } from './postgres-vector-source.ts'

export interface VectorWorkerData extends VectorMemory {
  url: string
  /** Names the database without its user and password. */
  place: string
}

const { url, place, ...memory } = workerData as VectorWorkerData
// One connection, replaced when it is lost.
const pool = new pg.Pool({
  connectionString: url,
  max: 1,
  connectionTimeoutMillis: 10_000,
  idleTimeoutMillis: 0,
  keepAlive: true,
  fallback_application_name: 'familiar (vectors)',
})
// Of one that is being closed, too, which the pool has let go of.
pool.on('connect', (client) => client.on('error', () => undefined))
pool.on('error', () => {})
const stored = createStoredVectors(createPostgresVectorSource(pool), memory)
answerVectorQuestions(stored, (thrown) => toStorageError(thrown, place))
