import pg from 'pg'
import { sha256 } from '../../../../base/hash.ts'

/** An index over the vectors of one model. It is made of `memory_vectors` alone, and can be made anew at any time. */
export interface HnswIndex {
  name: string
  /** What is indexed, as a query has to say it too. */
  expression: string
  /** Which rows are in it, as a query has to say it too. */
  condition: string
}

// What a stored vector has before its numbers.
const scaleBytes = 4
/** What one index entry can hold of half vectors. */
export const mostDimensions = 4000

export function describeHnswIndex(model: string, dimensions: number): HnswIndex {
  return {
    name: `memory_vectors_hnsw_${sha256(JSON.stringify([model, dimensions])).slice(0, 16)}`,
    expression: `memory_vector_numbers(vector)::halfvec(${dimensions})`,
    condition: `model = ${pg.escapeLiteral(model)} and octet_length(vector) = ${dimensions + scaleBytes}`,
  }
}

/** The numbers are whole and small: half the bytes of a float hold them exactly. A scale changes no angle. */
const createFunction = `
  create or replace function memory_vector_numbers(bytes bytea) returns halfvec
  language sql immutable strict parallel safe cost 10000
  return (
    select array_agg((get_byte(bytes, at) # 128) - 128 order by at)::halfvec
    from generate_series(${scaleBytes}, octet_length(bytes) - 1) as at
  )`

/** One daemon at a time; nobody waits for it, and everybody writes meanwhile. False where another one is at it. */
export async function buildHnswIndex(url: string, { name, expression, condition }: HnswIndex): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, fallback_application_name: 'familiar (index)' })
  client.on('error', () => {})
  await client.connect()
  try {
    const lock = await client.query<{ isHeld: boolean }>('select pg_try_advisory_lock($1) as "isHeld"', [buildLock])
    if (!lock.rows[0]?.isHeld) return false
    if (await isHalfBuilt(client, name)) await client.query(`drop index concurrently ${name}`)
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

/** Left behind by a build that was broken off. */
async function isHalfBuilt(client: pg.Client, name: string): Promise<boolean> {
  const { rows } = await client.query(
    'select from pg_index where indexrelid = to_regclass($1) and not (indisvalid and indisready)',
    [name],
  )
  return rows.length > 0
}
