import { systemClock } from '../../src/base/clock.ts'
import type { Database } from '../../src/storage/database.ts'
import { createPostgresPools } from '../../src/storage/postgres/connection.ts'
import { openPostgres } from '../../src/storage/postgres/open-postgres.ts'
import { createPostgresVectorSearch } from '../../src/storage/postgres/vector-search.ts'
import { pgvectorBinaries } from '../../test/support/postgres/pgvector.ts'
import { startPostgres } from '../../test/support/postgres/start-postgres.ts'

/** `pgvector` asks the index for every vector search, however few vectors there are. */
const engines = ['sqlite', 'postgres', 'pgvector'] as const

export type RecallEngine = (typeof engines)[number]

export function isRecallEngine(name: string): name is RecallEngine {
  return engines.some((engine) => engine === name)
}

/** On a server of its own, which ends with this process. */
export async function openPostgresBeside(engine: Exclude<RecallEngine, 'sqlite'>): Promise<Database> {
  const binaries = engine === 'pgvector' ? await pgvectorBinaries() : undefined
  if (engine === 'pgvector' && binaries === undefined) throw new Error('there is no pgvector here')
  const server = await startPostgres({ binaries, settings: { shared_buffers: '256MB' } })
  const clock = systemClock()
  const url = server.urlOf('postgres')
  const database = await openPostgres({ url, clock })
  const pools = createPostgresPools({ url, size: 4 })
  const always = engine === 'pgvector' ? { indexFrom: 0, awaitsIndex: true } : {}
  const vectorSearch = createPostgresVectorSearch({ pools, url, clock, ...always })
  return {
    ...database,
    vectorSearch,
    async close() {
      await vectorSearch.close()
      await pools.end()
      await database.close()
    },
  }
}

const rowsPerUnit = 500

/** Those of the same memories, which need not have the same numbers at both ends. */
export async function copyVectors(from: Database, to: Database): Promise<void> {
  const numbersOf = ({ read }: Database) => read.selectFrom('memories').select(['id', 'number']).execute()
  const idOf = new Map((await numbersOf(from)).map(({ id, number }) => [number, id]))
  const numberOf = new Map((await numbersOf(to)).map(({ id, number }) => [id, number]))
  const rows = await from.read
    .selectFrom('memory_vectors')
    .select(['number', 'user_id', 'model', 'text_hash', 'vector'])
    .orderBy('place')
    .execute()
  for (let at = 0; at < rows.length; at += rowsPerUnit) {
    const values = rows.slice(at, at + rowsPerUnit).map((row) => {
      const number = numberOf.get(idOf.get(row.number) ?? '')
      if (number === undefined) throw new Error(`memory ${row.number} is not at the other end`)
      return { ...row, number }
    })
    await to.write((writer) => writer.insertInto('memory_vectors').values(values).execute())
  }
}
