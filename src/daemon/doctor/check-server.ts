import { sql } from 'kysely'
import { systemClock } from '../../base/clock.ts'
import { formatBytes, plural } from '../../base/format.ts'
import { allMigrations } from '../../storage/migrations/all-migrations.ts'
import type { PostgresDatabase } from '../../storage/postgres/open-postgres.ts'
import type { DatabaseCheck } from './check-database.ts'
import { checkKey, type KeyPlaces } from './check-key.ts'
import { type Finding, fail, ok, reasonOf, warn } from './finding.ts'

/** Connects as one more daemon would; where the tables are older than this program, that migrates them. */
export async function checkServer(url: string, key: KeyPlaces): Promise<DatabaseCheck> {
  const { openPostgres } = await import('../../storage/postgres/open-postgres.ts')
  try {
    const database = await openPostgres({ url, clock: systemClock(), poolSize: 4 })
    try {
      return await look(database, key)
    } finally {
      await database.close()
    }
  } catch (error) {
    return { findings: [fail('database', reasonOf(error))] }
  }
}

async function look(database: PostgresDatabase, key: KeyPlaces): Promise<DatabaseCheck> {
  const [problem] = await database.checkIntegrity()
  if (problem !== undefined) return { findings: [fail('database', problem)] }
  const { rows } = await sql<{ version: string; bytes: number; newest: number | null; daemons: number }>`
    select current_setting('server_version') as version, pg_database_size(current_database()) as bytes,
      (select max(at) from session_events) as newest, (select count(*) from daemons) as daemons`.execute(database.read)
  const [row] = rows
  const told = `PostgreSQL ${row?.version}, ${formatBytes(row?.bytes ?? 0)}, version ${allMigrations.at(-1)?.name}`
  const findings = [
    ok('database', `${told}; ${plural(row?.daemons ?? 0, 'daemon shares it', 'daemons share it')}`),
    describeSearch(await database.vectorSearch.describe()),
    await checkKey(database, key),
  ]
  return { findings, ...(typeof row?.newest === 'number' && { newestEvent: row.newest }) }
}

function describeSearch(how: string): Finding {
  if (how.startsWith('pgvector')) return ok('search by meaning', how)
  return warn(
    'search by meaning',
    `${how}: every daemon that searches holds the vectors in its memory. With the extension pgvector the server does it.`,
    'CREATE EXTENSION vector, as the owner of the database',
  )
}
