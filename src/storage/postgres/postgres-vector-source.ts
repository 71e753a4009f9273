import type pg from 'pg'
import type { VectorFollower, VectorRow, VectorSource } from '../vectors/threaded-vector-search.ts'
import { readValues } from './connection.ts'

const rowsPerPage = 2000

export function createPostgresVectorSource(pool: pg.Pool): VectorSource {
  async function rowsOf<Row extends pg.QueryResultRow>(name: string, text: string, values: unknown[]): Promise<Row[]> {
    const { rows } = await pool.query<Row>({ name, text, values, types: readValues })
    return rows
  }

  /** The highest place given out, and the writers that may hold an uncommitted place. */
  async function readWriters(): Promise<{ newest: number; writers: string[] }> {
    const [row] = await rowsOf<{ newest: number; writers: string[] }>('vector-writers', writersNow, [])
    return row ?? { newest: 0, writers: [] }
  }

  async function* readAfter(userId: string, model: string, after: number): AsyncGenerator<VectorRow[]> {
    for (let from = after, isLastPage = false; !isLastPage; ) {
      const rows = await rowsOf<VectorRow & pg.QueryResultRow>('vectors-after', vectorsAfter, [model, userId, from])
      from = rows.at(-1)?.place ?? from
      isLastPage = rows.length < rowsPerPage
      yield rows
    }
  }

  return {
    follow: (userId, model) => createFollower({ readWriters, readAfter: (after) => readAfter(userId, model, after) }),
    async present(places) {
      const text = 'select place from memory_vectors where place = any($1::bigint[])'
      const rows = await rowsOf<{ place: number }>('vectors-present', text, [places])
      return new Set(rows.map(({ place }) => place))
    },
    async read(places) {
      const text = 'select place, vector from memory_vectors where place = any($1::bigint[])'
      const rows = await rowsOf<{ place: number; vector: Uint8Array }>('vectors-at', text, [places])
      return new Map(rows.map(({ place, vector }) => [place, vector]))
    },
    close: () => pool.end(),
  }
}

const vectorsAfter = `
  select place, number, vector from memory_vectors
  where model = $1 and user_id = $2 and place > $3 order by place limit ${rowsPerPage}`

// `newest` comes from the statement's snapshot, which is older than its read of the locks.
const writersNow = `
  select (select coalesce(max(place), 0) from memory_vectors) as newest, array(
    select virtualtransaction from pg_locks
    where locktype = 'relation' and relation = 'memory_vectors'::regclass
      and database = (select oid from pg_database where datname = current_database())
      and mode = 'RowExclusiveLock' and granted
  ) as writers`

/**
 * Places are given out in order but committed in any order: a lower one may appear after a higher one was seen. A
 * writer holds a lock on the table from before it takes a place until its commit is visible. So a place is settled once
 * none of the writers that held the lock at that time holds it any more; places above it are read again each time.
 */
function createFollower(reads: {
  readWriters(): Promise<{ newest: number; writers: string[] }>
  readAfter(place: number): AsyncIterable<VectorRow[]>
}): VectorFollower {
  let settled = 0
  let inDoubt: { upTo: number; writers: ReadonlySet<string> } | undefined
  /** Places above the settled one that were already reported. */
  const reported = new Set<number>()

  function settleUpTo(newest: number, writers: readonly string[]): number {
    if (writers.length === 0) {
      inDoubt = undefined
      return newest
    }
    const before = inDoubt
    if (before && writers.some((writer) => before.writers.has(writer))) return settled
    inDoubt = { upTo: newest, writers: new Set(writers) }
    return before?.upTo ?? settled
  }

  return {
    async *newer() {
      const { newest, writers } = await reads.readWriters()
      const settles = settleUpTo(newest, writers)
      for await (const rows of reads.readAfter(settled)) {
        const fresh = rows.filter(({ place }) => !reported.has(place))
        for (const { place } of fresh) reported.add(place)
        yield fresh
      }
      settled = settles
      for (const place of reported) if (place <= settled) reported.delete(place)
    },
  }
}
