import pg from 'pg'
import { describe, expect, test } from 'vitest'
import { addVectors } from '../../../test/contract/vector-search-support.ts'
import { openTestPool } from '../../../test/support/postgres/open-test-pool.ts'
import { createPostgresDatabase } from '../../../test/support/postgres/postgres-database.ts'
import { whyNoPostgres } from '../../../test/support/postgres/start-postgres.ts'
import { systemClock } from '../../base/clock.ts'
import { toVectorBytes } from '../database.ts'
import type { VectorFollower } from '../vectors/threaded-vector-search.ts'
import { openPostgres } from './open-postgres.ts'
import { createPostgresVectorSource } from './postgres-vector-source.ts'

describe.skipIf(whyNoPostgres() !== undefined)('vectors that several daemons write', () => {
  test('SCALE-1 MEM-6 reports each vector once, including one committed after a later one', async () => {
    await using made = await createPostgresDatabase({ migrated: true })
    const database = await openPostgres({ url: made.url, clock: systemClock(), poolSize: 4 })
    await database.write((writer) =>
      writer.insertInto('users').values({ id: 'max', name: 'Max', role: 'user', created_at: 1 }).execute(),
    )
    const [first, second, third, fourth] = await addVectors(
      database,
      [
        [1, 0],
        [1, 1],
        [0, 1],
        [0, 2],
      ].map((vector) => ({ vector, model: 'old' })),
    )
    const pool = openTestPool({ connectionString: made.url, max: 1 })
    // The database is dropped while connections are still closing.
    pool.on('connect', (client) => client.on('error', () => undefined))
    const source = createPostgresVectorSource(pool)
    const follower = source.follow('max', 'one')
    const [slow, quick, slower] = [await connect(made.url), await connect(made.url), await connect(made.url)]

    await begin(slow, first)
    await insert(quick, second)
    expect(await numbersOf(follower)).toEqual([second])
    await begin(slower, third)
    await slow.query('commit')
    expect(await numbersOf(follower)).toEqual([first])
    await insert(quick, fourth)
    expect(await numbersOf(follower)).toEqual([fourth])
    expect(await numbersOf(follower)).toEqual([])
    await slower.query('commit')
    expect(await numbersOf(follower)).toEqual([third])
    expect(await numbersOf(follower)).toEqual([])

    await Promise.all([slow, quick, slower].map((client) => client.end()))
    await source.close()
    await database.close()
  })
})

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client(url)
  await client.connect()
  return client
}

async function begin(client: pg.Client, number: number | undefined): Promise<void> {
  await client.query('begin')
  await insert(client, number)
}

async function insert(client: pg.Client, number: number | undefined): Promise<void> {
  await client.query(
    `insert into memory_vectors (number, user_id, model, text_hash, vector) values ($1, 'max', 'one', '', $2)`,
    [number, Buffer.from(toVectorBytes(Float32Array.of(1, 0)))],
  )
}

async function numbersOf(follower: VectorFollower): Promise<number[]> {
  const numbers: number[] = []
  for await (const rows of follower.newer()) numbers.push(...rows.map((row) => row.number))
  return numbers
}
