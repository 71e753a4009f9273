import { Worker } from 'node:worker_threads'
import pg from 'pg'
import type { Clock } from '../../base/clock.ts'
import { sha256 } from '../../base/ids.ts'
import type { Logger } from '../../base/logger.ts'
import { untilAborted } from '../../base/work.ts'
import { FamiliarError } from '../../protocol/errors.ts'
import { type VectorMatch, type VectorSearch, vectorNumbers } from '../database.ts'
import { bestFirst, cosine, toWideQuestion, type VectorQuestion } from '../vectors/stored-vectors.ts'
import {
  createThreadedVectorSearch,
  defaultVectorLimits,
  type ThreadLimits,
} from '../vectors/threaded-vector-search.ts'
import { type ConnectionPool, type PostgresPools, readValues, toStorageError } from './connection.ts'
import type { PostgresWorkerData } from './vector-worker.ts'

export interface PostgresVectorSearchOptions extends ThreadLimits {
  pools: PostgresPools
  url: string
  clock: Clock
  log?: Pick<Logger, 'info' | 'warn'> | undefined
  /** Up to this many vectors of a user are compared one by one, even with pgvector. */
  indexFrom?: number
  /**
   * Makes a question wait for the index to be built, for tests and benchmarks. Otherwise it is answered by a full scan
   * meanwhile.
   */
  awaitsIndex?: boolean
}

const figuresAgeMs = 60_000

/**
 * Compares a user's vectors one by one in a worker thread. With pgvector, an index over all vectors of a model serves
 * users with very many; their first question starts the build.
 */
export function createPostgresVectorSearch(options: PostgresVectorSearchOptions): VectorSearch {
  const { pools, url, clock, log, indexFrom = 10_000, awaitsIndex = false } = options
  const { idleMs, memoryBytes, exactLimit } = { ...defaultVectorLimits, ...options }
  const workerData: PostgresWorkerData = { url, place: pools.place, memoryBytes, exactLimit }
  const thread = createThreadedVectorSearch({
    startWorker: () => new Worker(new URL('./vector-worker.ts', import.meta.url), { workerData }),
    clock,
    idleMs,
  })
  const builds = new Map<string, Promise<void>>()
  /** When a build ended, with or without success: the next attempt is delayed. */
  const tried = new Map<string, number>()
  const known = new Map<string, { figures: VectorFigures | undefined; at: number }>()
  let pgvector: Promise<Pgvector> | undefined
  let isClosed = false

  function findExtension(): Promise<Pgvector> {
    pgvector ??= pools.writing.use(findPgvector).catch((error) => {
      pgvector = undefined
      throw error
    })
    return pgvector
  }

  async function figuresOf({ userId, model, limit }: VectorQuestion): Promise<VectorFigures | undefined> {
    const key = JSON.stringify([userId, model])
    const before = known.get(key)
    if (before && clock.now() - before.at < figuresAgeMs && !awaitsIndex) return before.figures
    const asked = { userId, model, limit, exactLimit: indexFrom }
    const figures = await pools.reading.use((client) => readFigures(client, asked))
    if (known.size > 10_000) known.clear()
    known.set(key, { figures, at: clock.now() })
    return figures
  }

  /**
   * The minimum number of matches that the index must find; undefined if it does not exist or is not worth using.
   * Starts a build if the index is worth it and missing.
   */
  async function expectedOfIndex(question: VectorQuestion): Promise<number | undefined> {
    const { model, vector, limit } = question
    if (limit < 1 || !vector.every(Number.isFinite) || vector.every((value) => value === 0)) return undefined
    if (!(await findExtension()).isUsable) return undefined
    const figures = await figuresOf(question)
    if (!figures || figures.dimensions !== vector.length || figures.own <= indexFrom) return undefined
    if (!awaitsIndex && figures.own < fewestForIndex(figures.all, limit)) return undefined
    if (!figures.hasIndex) {
      const built = build(model, vector.length)
      if (!awaitsIndex) return undefined
      await built
    }
    return Math.min(limit, figures.own)
  }

  function build(model: string, dimensions: number): Promise<void> {
    const index = describeHnswIndex(model, dimensions)
    const running = builds.get(index.name)
    if (running) return running
    const isTooSoon = clock.now() - (tried.get(index.name) ?? Number.NEGATIVE_INFINITY) < figuresAgeMs
    if (isClosed || isTooSoon) return Promise.resolve()
    const built = buildHnswIndex(url, index)
      .then((isOurs) => {
        if (isOurs) log?.info('built a vector index', { model })
        known.clear()
      })
      .catch((error: unknown) => {
        const { message } = toStorageError(error, pools.place) as Error
        log?.warn('could not build a vector index', { model, problem: message })
      })
      .finally(() => {
        builds.delete(index.name)
        tried.set(index.name, clock.now())
      })
    builds.set(index.name, built)
    return built
  }

  async function search(question: VectorQuestion, signal: AbortSignal | undefined): Promise<VectorMatch[]> {
    const expected = await expectedOfIndex(question)
    if (expected !== undefined) {
      const matches = await searchHnsw(pools.reading, question)
      // The index finds fewer if the user's vectors are too sparse among all vectors.
      if (matches.length >= expected) return matches
    }
    return thread.search({ ...question, ...(signal && { signal }) })
  }

  return {
    async search({ signal, ...question }) {
      signal?.throwIfAborted()
      if (isClosed) throw closed()
      try {
        const found = search(question, signal)
        return await (signal ? untilAborted(found, signal) : found)
      } catch (error) {
        if (signal?.aborted) throw signal.reason
        throw isClosed ? closed() : toStorageError(error, pools.place)
      }
    },
    async describe() {
      const found = await findExtension()
      if (!found.isUsable) return `exact scan in memory (${found.why})`
      return `pgvector ${found.version} (HNSW from ${indexFrom} vectors per user, exact scan below)`
    },
    async close() {
      isClosed = true
      await thread.close()
    },
  }
}

function closed(): FamiliarError {
  return new FamiliarError('unavailable', 'The vector search is closed.')
}

/** An index over the vectors of one model. It is derived from `memory_vectors` and can be rebuilt at any time. */
interface HnswIndex {
  name: string
  /** The indexed expression; a query must repeat it. */
  expression: string
  /** The index's condition; a query must repeat it. */
  condition: string
}

// The length of the scale before the numbers of a stored vector.
const scaleBytes = 4
/** The limit of one index entry for half vectors. */
const maxDimensions = 4000

function describeHnswIndex(model: string, dimensions: number): HnswIndex {
  return {
    name: `memory_vectors_hnsw_${sha256(JSON.stringify([model, dimensions])).slice(0, 16)}`,
    expression: `memory_vector_numbers(vector)::halfvec(${dimensions})`,
    condition: `model = ${pg.escapeLiteral(model)} and octet_length(vector) = ${dimensions + scaleBytes}`,
  }
}

/** The numbers are small integers, which a half float holds exactly. A scale changes no angle. */
const createFunction = `
  create or replace function memory_vector_numbers(bytes bytea) returns halfvec
  language sql immutable strict parallel safe cost 10000
  return (
    select array_agg((get_byte(bytes, at) # 128) - 128 order by at)::halfvec
    from generate_series(${scaleBytes}, octet_length(bytes) - 1) as at
  )`

/** Built by one daemon at a time, without blocking anyone. False if another one is building. */
async function buildHnswIndex(url: string, { name, expression, condition }: HnswIndex): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, fallback_application_name: 'familiar (index)' })
  client.on('error', () => {})
  await client.connect()
  try {
    const lock = await client.query<{ isHeld: boolean }>('select pg_try_advisory_lock($1) as "isHeld"', [buildLock])
    if (!lock.rows[0]?.isHeld) return false
    // Left behind by an interrupted build.
    const half = 'select from pg_index where indexrelid = to_regclass($1) and not (indisvalid and indisready)'
    if ((await client.query(half, [name])).rows.length > 0) await client.query(`drop index concurrently ${name}`)
    await client.query(createFunction)
    await client.query(`set maintenance_work_mem = '256MB'`)
    await client.query(`
      create index concurrently if not exists ${name} on memory_vectors
      using hnsw ((${expression}) halfvec_cosine_ops) where ${condition}`)
    return true
  } finally {
    await client.end()
  }
}

/** "FAMV" */
const buildLock = 0x46414d56

interface VectorFigures {
  /** Of the user; capped at one more than the counting limit. */
  own: number
  dimensions: number
  /** Of all users, approximately. */
  all: number
  hasIndex: boolean
}

// Visiting one index entry costs about as much as this many comparisons in memory.
const comparisonsPerStep = 10

/**
 * How many vectors a user must have before the index is faster than a full scan. The index visits all users' vectors
 * until enough belong to the user.
 */
export function fewestForIndex(all: number, limit: number): number {
  return Math.ceil(Math.sqrt(comparisonsPerStep * limit * all))
}

async function readFigures(
  client: pg.ClientBase,
  { userId, model, limit, exactLimit }: { userId: string; model: string; limit: number; exactLimit: number },
): Promise<VectorFigures | undefined> {
  const { rows } = await client.query<{ bytes: number; all: number }>({
    name: 'vector-figures',
    text: `
      select octet_length(vector) as bytes, (
        -- Below zero before the first vacuum.
        select greatest(reltuples, 0)::float8 from pg_class where oid = 'memory_vectors'::regclass
      ) as all
      from memory_vectors where model = $1 and user_id = $2 limit 1`,
    values: [model, userId],
  })
  const [row] = rows
  if (!row || row.bytes - 4 > maxDimensions) return undefined
  const dimensions = row.bytes - 4
  const most = Math.max(exactLimit, fewestForIndex(row.all, limit)) + 1
  const counted = await client.query<{ own: number; hasIndex: boolean }>({
    name: 'vectors-of-user',
    text: `
      select (
        select count(*)::int from (select from memory_vectors where model = $1 and user_id = $2 limit $3) as own
      ) as own,
      exists (
        select from pg_index where indexrelid = to_regclass($4) and indisvalid and indisready
      ) as "hasIndex"`,
    values: [model, userId, most, describeHnswIndex(model, dimensions).name],
  })
  const { own = 0, hasIndex = false } = counted.rows[0] ?? {}
  return { own, dimensions, all: Math.max(row.all, own), hasIndex }
}

// A wider search finds more of the true best matches.
const widthPerMatch = 3
const [fewestCandidates, maxCandidates] = [200, 1000]

/**
 * The nearest vectors of one user, by the index over all users of that model. It continues until it found enough of the
 * user's vectors or visited too many, so it may return fewer than exist. Scores are computed from the vectors
 * themselves.
 */
async function searchHnsw(pool: ConnectionPool, question: VectorQuestion): Promise<VectorMatch[]> {
  const { userId, model, vector, limit } = question
  const { expression, condition } = describeHnswIndex(model, vector.length)
  const width = Math.min(Math.max(limit * widthPerMatch, fewestCandidates), maxCandidates)
  const wide = toWideQuestion(vector)
  const rows = await pool.use(async (client) => {
    await client.query(`begin transaction read only; ${settings(width)}`)
    const found = await client.query<{ number: number; vector: Uint8Array }>({
      text: `
        select number, vector from memory_vectors where ${condition} and user_id = $1
        order by ${expression} <=> $2::halfvec limit $3`,
      values: [userId, writeQuestion(vector), Math.max(width, limit)],
      types: readValues,
    })
    await client.query('commit')
    return found.rows
  })
  const matches = rows.map((row) => ({ number: row.number, score: cosine(wide, vectorNumbers(row.vector)) }))
  return bestFirst(matches).slice(0, limit)
}

// A sort would compute every vector of the user first; the planner does not know that cost.
function settings(width: number): string {
  return `
    set local hnsw.ef_search = ${width};
    set local hnsw.iterative_scan = relaxed_order;
    set local hnsw.max_scan_tuples = 200000;
    set local hnsw.scan_mem_multiplier = 8;
    set local enable_sort = off;
    set local enable_seqscan = off;
    set local enable_bitmapscan = off`
}

/** Scaled to a largest number of one, because half floats have little precision elsewhere. */
function writeQuestion(vector: Float32Array): string {
  const furthest = vector.reduce((most, value) => Math.max(most, Math.abs(value)), 0)
  return `[${Array.from(vector, (value) => (value / furthest).toFixed(6)).join(',')}]`
}

/** The state of the extension in this database. */
type Pgvector = { isUsable: true; version: string } | { isUsable: false; why: string }

// Half vectors need 0.7; iterative scans need 0.8.
const oldestMajor = 0
const oldestMinor = 8

/** Finds the extension, and enables it if it is installed and this user may. */
async function findPgvector(client: pg.ClientBase): Promise<Pgvector> {
  const version = (await readVersion(client)) ?? (await createExtension(client))
  if (version === undefined) return { isUsable: false, why: 'pgvector is not installed' }
  if (version === '') return { isUsable: false, why: 'pgvector is installed; enable it with: CREATE EXTENSION vector' }
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (major > oldestMajor || minor >= oldestMinor) return { isUsable: true, version }
  return { isUsable: false, why: `pgvector ${version} is older than ${oldestMajor}.${oldestMinor}` }
}

async function readVersion(client: pg.ClientBase): Promise<string | undefined> {
  const { rows } = await client.query<{ version: string }>(
    `select extversion as version from pg_extension where extname = 'vector'`,
  )
  return rows[0]?.version
}

/** Empty if it is available but this user may not create it; undefined if it is not available. */
async function createExtension(client: pg.ClientBase): Promise<string | undefined> {
  const { rows } = await client.query(`select from pg_available_extensions where name = 'vector'`)
  if (rows.length === 0) return undefined
  // Several daemons may try at once; the second one fails and then finds it.
  await client.query('create extension if not exists vector').catch(() => {})
  return (await readVersion(client)) ?? ''
}
