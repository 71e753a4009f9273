import type pg from 'pg'
import { describeHnswIndex, mostDimensions } from './hnsw-index.ts'

export interface VectorFigures {
  /** Of the user, or one more than was counted. */
  own: number
  dimensions: number
  /** Of everybody, roughly. */
  all: number
  hasIndex: boolean
}

// Looking at one more entry of the index costs about as much as comparing so many vectors in memory.
const comparisonsPerStep = 10

/**
 * How many vectors a user must have before the index is quicker than comparing all of them. It looks at everybody's
 * until enough are the user's: among many others' vectors that is a long way.
 */
export function fewestForIndex(all: number, limit: number): number {
  return Math.ceil(Math.sqrt(comparisonsPerStep * limit * all))
}

export async function readFigures(
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
  if (!row || row.bytes - 4 > mostDimensions) return undefined
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
