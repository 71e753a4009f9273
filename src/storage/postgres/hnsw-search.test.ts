import pg from 'pg'
import { describe, expect, test } from 'vitest'
import { addVectors, randomVector } from '../../../test/contract/vector-search-support.ts'
import { pgvectorBinaries } from '../../../test/support/postgres/pgvector.ts'
import { startPostgres, whyNoPostgres } from '../../../test/support/postgres/start-postgres.ts'
import { systemClock } from '../../base/clock.ts'
import { createPostgresPools } from './connection.ts'
import { openPostgres } from './open-postgres.ts'
import { createPostgresVectorSearch, fewestForIndex } from './vector-search.ts'

const canRun = process.env.FAMILIAR_TEST_ALL !== undefined && whyNoPostgres() === undefined
const binaries = canRun ? await pgvectorBinaries() : undefined
const clock = systemClock()

describe.skipIf(binaries === undefined)('the pgvector index', () => {
  test('MEM-1 MEM-15 is used, and finds one user among many like a full scan', async () => {
    const server = await startPostgres({ binaries })
    const url = server.urlOf('postgres')
    const database = await openPostgres({ url, clock, poolSize: 4 })
    await database.write(async (writer) => {
      const users = ['max', 'eve'].map((id) => ({ id, name: id, role: 'user' as const, created_at: 1 }))
      await writer.insertInto('users').values(users).execute()
    })
    // One in twenty belongs to Max.
    const vectors = Array.from({ length: 4000 }, (_, index) => ({
      vector: randomVector(index + 1, 32),
      userId: index % 20 === 0 ? 'max' : 'eve',
    }))
    await addVectors(database, vectors)
    const pools = createPostgresPools({ url, size: 4 })
    const exact = createPostgresVectorSearch({ pools, url, clock })
    const indexed = createPostgresVectorSearch({ pools, url, clock, indexFrom: 0, awaitsIndex: true })

    let found = 0
    for (let round = 0; round < 10; round += 1) {
      const question = { userId: 'max', model: 'one', vector: randomVector(-1 - round, 32), limit: 20 }
      const best = new Set((await exact.search(question)).map(({ number }) => number))
      const matches = await indexed.search(question)
      expect(matches).toHaveLength(20)
      found += matches.filter(({ number }) => best.has(number)).length
    }
    expect(found).toBeGreaterThanOrEqual(190)
    expect(await scansOfIndex(url)).toBe(10)

    await Promise.all([exact.close(), indexed.close()])
    await pools.end()
    await database.close()
    await server.stop()
  }, 120_000)
})

test('MEM-3 is used only for users with many vectors, relative to all vectors', () => {
  expect(fewestForIndex(10_000_000, 150)).toBeGreaterThan(100_000)
  expect(fewestForIndex(100_000, 150)).toBeLessThan(20_000)
})

async function scansOfIndex(url: string): Promise<number> {
  const client = new pg.Client(url)
  await client.connect()
  try {
    // The server's statistics arrive with a delay.
    for (;;) {
      const { rows } = await client.query<{ scans: number }>(
        `select idx_scan::int as scans from pg_stat_user_indexes where indexrelname like 'memory_vectors_hnsw_%'`,
      )
      if (rows[0] && rows[0].scans >= 10) return rows[0].scans
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  } finally {
    await client.end()
  }
}
