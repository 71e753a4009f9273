import { sql } from 'kysely'
import type pg from 'pg'
import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/logger.ts'
import { FamiliarError } from '../../protocol/error.ts'
import type { Database, Reader } from '../database.ts'
import { allMigrations } from '../migrations/all-migrations.ts'
import type { Migration } from '../migrations/migration.ts'
import type { Tables } from '../tables.ts'
import { inspectPostgres } from './inspect-postgres.ts'
import { migratePostgres } from './migrate-postgres.ts'
import { createKysely } from './postgres-dialect.ts'
import { toStorageError } from './postgres-error.ts'
import { createPostgresPools, type PostgresPools } from './postgres-pools.ts'
import { readStatement } from './read-statement.ts'
import type { Wiring } from './run-statement.ts'
import { postgresMigrationEngine } from './search/migration-engine.ts'
import { createPostgresTextSearch } from './search/text-search.ts'
import { createPostgresVectorSearch } from './search/vector-search.ts'
import { createStatementNames } from './statement-names.ts'
import { vacuumTables } from './vacuum-tables.ts'
import { createUnits } from './write-units.ts'

export interface PostgresDatabase extends Database {
  /** Plain connections, for jobs and notices. Values come as pg gives them. */
  readonly pool: pg.Pool
}

export interface OpenPostgresOptions {
  /** `postgres://user:password@host:port/database` */
  url: string
  clock: Clock
  log?: Pick<Logger, 'info' | 'warn'>
  /** Takes secrets out of every text on its way into the database. A text that is JSON must stay JSON. */
  redact?: (text: string) => string
  migrations?: readonly Migration[]
  /** Connections that this process may open in all. */
  poolSize?: number
}

/**
 * Opens the database that any number of daemons may share, making or migrating its tables as needed. Rejects with a
 * message for the user, and leaves the database as it was, when it cannot be used.
 */
export async function openPostgres(options: OpenPostgresOptions): Promise<PostgresDatabase> {
  const { url, clock, log, redact, migrations = allMigrations, poolSize = 20 } = options
  const pools = createPostgresPools({ url, size: poolSize, log })
  const wiring: Wiring = { nameStatement: createStatementNames(), redact }
  try {
    const applied = await migratePostgres({
      pool: pools.writing,
      place: pools.place,
      wiring,
      engine: postgresMigrationEngine,
      known: migrations,
      now: clock.now(),
    })
    if (applied.length > 0) log?.info('database migrated', { applied: applied.join(', ') })
  } catch (error) {
    await pools.end()
    throw toStorageError(error, pools.place)
  }
  return createPostgresDatabase({ ...options, pools, wiring })
}

function createPostgresDatabase(
  options: Pick<OpenPostgresOptions, 'url' | 'clock' | 'log'> & { pools: PostgresPools; wiring: Wiring },
): PostgresDatabase {
  const { pools, wiring } = options
  const { writing, place } = pools
  // One is left for the jobs, which share the pool.
  const units = createUnits({ pool: writing, place, wiring, concurrency: Math.max(1, writing.raw.options.max - 1) })
  const { nameStatement, redact } = wiring
  const read: Reader = createKysely<Tables>((query) => readStatement({ pools, query, nameStatement }))
  const textSearch = createPostgresTextSearch({ read, redact })
  const vectorSearch = createPostgresVectorSearch(options)
  let closing: Promise<void> | undefined

  async function letGo(): Promise<void> {
    await Promise.allSettled([units.close(), vectorSearch.close()])
    await pools.end()
  }

  return {
    engine: 'postgres',
    pool: writing.raw,
    read,
    textSearch,
    vectorSearch,
    write: units.write,
    async backup() {
      throw new FamiliarError(
        'bad_request',
        'PostgreSQL makes its own backups: pg_dump copies this database. For a copy in a file: familiar migrate --to <file>',
      )
    },
    async sizeInBytes() {
      const { rows } = await sql<{ bytes: number }>`select pg_database_size(current_database()) as bytes`.execute(read)
      return rows[0]?.bytes ?? 0
    },
    checkIntegrity: () => inspectPostgres(read),
    async scrub(signal) {
      await textSearch.scrub(signal)
      await vacuumTables(writing, signal)
    },
    close() {
      closing ??= letGo()
      return closing
    },
  }
}
