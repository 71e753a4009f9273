import { workerData } from 'node:worker_threads'
import pg from 'pg'
import { createStoredVectors, type VectorMemory } from '../vectors/stored-vectors.ts'
import { answerVectorQuestions } from '../vectors/threaded-vector-search.ts'
import { toStorageError } from './connection.ts'
import { createPostgresVectorSource } from './postgres-vector-source.ts'

export interface PostgresWorkerData extends VectorMemory {
  url: string
  /** The database's name without user and password. */
  place: string
}

const { url, place, ...memory } = workerData as PostgresWorkerData
// One connection, replaced when it is lost.
const pool = new pg.Pool({
  connectionString: url,
  max: 1,
  connectionTimeoutMillis: 10_000,
  idleTimeoutMillis: 0,
  keepAlive: true,
  fallback_application_name: 'familiar (vectors)',
})
// Also for connections that the pool has already released.
pool.on('connect', (client) => client.on('error', () => undefined))
pool.on('error', () => {})
const stored = createStoredVectors(createPostgresVectorSource(pool), memory)
answerVectorQuestions(stored, (thrown) => toStorageError(thrown, place))
