import { vectorNumbers } from '../../../vector-bytes.ts'
import type { VectorMatch } from '../../../vector-search.ts'
import type { VectorQuestion } from '../../../vectors/stored-vectors.ts'
import { cosine, toWideQuestion } from '../../../vectors/wide-question.ts'
import type { ConnectionPool } from '../../connection-pool.ts'
import { readValues } from '../../postgres-values.ts'
import { describeHnswIndex } from './hnsw-index.ts'

// The wider the search, the more of the true best it finds.
const widthPerMatch = 3
const [fewestCandidates, mostCandidates] = [200, 1000]

/**
 * The nearest of one user's vectors by the index over all users' of that model. It goes on until enough of them are the
 * user's own, or too many were looked at; it may be fewer than there are. Their scores come from the vectors themselves.
 */
export async function searchHnsw(pool: ConnectionPool, question: VectorQuestion): Promise<VectorMatch[]> {
  const { userId, model, vector, limit } = question
  const { expression, condition } = describeHnswIndex(model, vector.length)
  const width = Math.min(Math.max(limit * widthPerMatch, fewestCandidates), mostCandidates)
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
  return rows
    .map((row) => ({ number: row.number, score: cosine(wide, vectorNumbers(row.vector)) }))
    .sort((a, b) => b.score - a.score || b.number - a.number)
    .slice(0, limit)
}

// A sort would have to compute every vector of the user first; the planner does not know what that costs.
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

/** Its furthest number is one: half the bytes of a float hold little else. */
function writeQuestion(vector: Float32Array): string {
  const furthest = vector.reduce((most, value) => Math.max(most, Math.abs(value)), 0)
  return `[${Array.from(vector, (value) => (value / furthest).toFixed(6)).join(',')}]`
}
