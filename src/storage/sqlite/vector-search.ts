import { Worker } from 'node:worker_threads'
import type { Clock } from '../../base/clock.ts'
import type { VectorSearch } from '../vector-search.ts'
import { createThreadedVectorSearch, type ThreadLimits, usualLimits } from '../vectors/threaded-vector-search.ts'
import type { VectorWorkerData } from './vectors/vector-worker.ts'

export function createSqliteVectorSearch(options: { path: string; clock: Clock } & ThreadLimits): VectorSearch {
  const { path, clock, idleMs, memoryBytes, exactLimit } = { ...usualLimits, ...options }
  const workerData: VectorWorkerData = { path, memoryBytes, exactLimit }
  const { search, close } = createThreadedVectorSearch({
    startWorker: () => new Worker(new URL('./vectors/vector-worker.ts', import.meta.url), { workerData }),
    clock,
    idleMs,
  })
  return { search, close, describe: async () => 'exact scan in memory' }
}
