import pg from 'pg'
import { describe, expect } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { createPostgresPools } from '../../src/storage/postgres/connection.ts'
import { openPostgres } from '../../src/storage/postgres/open-postgres.ts'
import {
  createPostgresVectorSearch,
  type PostgresVectorSearchOptions,
} from '../../src/storage/postgres/vector-search.ts'
import { pgvectorBinaries } from '../support/postgres/pgvector.ts'
import { createPostgresDatabase } from '../support/postgres/postgres-database.ts'
import { type RunningPostgres, startPostgres, whyNoPostgres } from '../support/postgres/start-postgres.ts'
import { describeVectorSearch } from './vector-search-contract.ts'

type Options = Partial<PostgresVectorSearchOptions>

const runsAll = process.env.FAMILIAR_TEST_ALL !== undefined
const binaries = runsAll && whyNoPostgres() === undefined ? await pgvectorBinaries() : undefined
const withPgvector = binaries === undefined ? undefined : await startPostgres({ binaries })
let databases = 0
let template: Promise<string> | undefined

describe.skipIf(whyNoPostgres() !== undefined)('on PostgreSQL', () => {
  describeVectorSearch('PostgreSQL', async () => {
    const made = await createPostgresDatabase({ migrated: true })
    return openSearch(made.url, 1, { dispose: made.drop })
  })

  // Above the limit, a coarse pass selects candidates.
  if (runsAll) {
    describeVectorSearch('PostgreSQL with a rough look', async () => {
      const made = await createPostgresDatabase({ migrated: true })
      return openSearch(made.url, 0.9, { dispose: made.drop, options: { exactLimit: 20 } })
    })
  }
})

if (withPgvector) {
  // Every user's vectors by the index, however few. Random vectors are the hardest case.
  describeVectorSearch('PostgreSQL with pgvector', async () => {
    template ??= createTemplate(withPgvector)
    const url = await createDatabase(withPgvector, await template)
    return openSearch(url, 0.8, { options: { indexFrom: 0, awaitsIndex: true } })
  })
}

async function createTemplate(server: RunningPostgres): Promise<string> {
  const url = await createDatabase(server, 'template0')
  const database = await openPostgres({ url, clock: systemClock(), poolSize: 2 })
  expect(await database.vectorSearch.describe()).toContain('pgvector')
  await database.close()
  return `vectors_${databases}`
}

async function createDatabase(server: RunningPostgres, from: string): Promise<string> {
  databases += 1
  const admin = new pg.Client(server.urlOf('postgres'))
  await admin.connect()
  await admin.query(`create database vectors_${databases} template ${from}`)
  await admin.end()
  return server.urlOf(`vectors_${databases}`)
}

async function openSearch(
  url: string,
  leastRecall: number,
  { dispose, options }: { dispose?: () => Promise<void>; options?: Options },
) {
  const clock = systemClock()
  const database = await openPostgres({ url, clock, poolSize: 4 })
  const pools = createPostgresPools({ url, size: 4 })
  const search = createPostgresVectorSearch({ pools, url, clock, ...options })
  return {
    database,
    search,
    leastRecall,
    async dispose() {
      await search.close()
      await pools.end()
      await database.close()
      await dispose?.()
    },
  }
}
