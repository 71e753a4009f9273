import { type CompiledQuery, type Kysely, sql } from 'kysely'
import { FamiliarError } from '../../protocol/error.ts'
import type { Migration, MigrationEngine } from '../migrations/migration.ts'
import { applyMigrations, planMigrations, readAppliedMigrations } from '../migrations/run-migrations.ts'
import type { ConnectionPool } from './connection-pool.ts'
import { createKysely } from './postgres-dialect.ts'
import { runStatement, type Wiring } from './run-statement.ts'

/** "FAMI": whoever migrates holds this lock, and those who start meanwhile wait for it. */
const migrationLock = 0x46414d49
const oldestVersion = 140_000

/**
 * Brings the tables to the form of today, all or none, however many daemons start at once. Refuses, with nothing changed,
 * a server that is too old, a database of another program, and one that a newer Familiar has moved on.
 * Returns the names of what was applied.
 */
export function migratePostgres(options: {
  pool: ConnectionPool
  place: string
  wiring: Wiring
  engine: MigrationEngine
  known: readonly Migration[]
  now: number
}): Promise<string[]> {
  const { pool, place, wiring, engine, known, now } = options
  return pool.use(async (client) => {
    const db = createKysely<unknown>((query: CompiledQuery) => runStatement(client, query, wiring))
    await refuseServer(db, place)
    await client.query('begin')
    // A transaction's own: it is let go with the commit, or with the process.
    await sql`select pg_advisory_xact_lock(${sql.lit(migrationLock)})`.execute(db)
    // Waiting for the lock, and a change of a large table, may take longer than a unit ever may.
    await client.query('set local idle_in_transaction_session_timeout = 0')
    const applied = (await hasMigrations(db, place)) ? await readAppliedMigrations(db) : []
    const pending = planMigrations(applied, known)
    if (pending.length > 0) await applyMigrations({ db, engine, pending, now })
    await client.query('commit')
    return pending.map(({ name }) => name)
  })
}

async function refuseServer(db: Kysely<unknown>, place: string): Promise<void> {
  const found = await sql<{ version: string; encoding: string; schema: string | null }>`
    select current_setting('server_version_num') as version, current_setting('server_encoding') as encoding,
      current_schema() as schema`.execute(db)
  const { version, encoding, schema } = found.rows[0] ?? { version: '0', encoding: '', schema: null }
  if (Number(version) < oldestVersion) throw refused(`${place} is on a version before 14. Update PostgreSQL.`)
  if (encoding !== 'UTF8') throw refused(`${place} is encoded as ${encoding}. Make one with: createdb --encoding=UTF8`)
  if (schema === null) throw refused(`${place} has no schema on the search_path of its user.`)
}

/** False for a database with no tables of anybody. */
async function hasMigrations(db: Kysely<unknown>, place: string): Promise<boolean> {
  const found = await sql<{ tables: number; columns: number }>`
    select
      (
        select count(*) from pg_class
        where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p')
          and not exists (select from pg_depend where objid = pg_class.oid and deptype = 'e')
      ) as tables,
      (
        select count(*) from information_schema.columns
        where table_schema = current_schema() and table_name = 'schema_migrations'
          and column_name in ('name', 'applied_at')
      ) as columns`.execute(db)
  const { tables, columns } = found.rows[0] ?? { tables: 0, columns: 0 }
  if (tables > 0 && columns < 2) throw refused(`${place} holds tables of another program. Nothing was changed.`)
  return tables > 0
}

function refused(message: string): FamiliarError {
  return new FamiliarError('conflict', message)
}
