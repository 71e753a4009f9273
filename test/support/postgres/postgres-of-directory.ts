import { existsSync } from 'node:fs'
import pg from 'pg'
import { movedTables } from '../../../src/fleet/transfer/tables.ts'
import { createPostgresDatabase, type PostgresTestDatabase } from './postgres-database.ts'

const known = new Map<string, Promise<PostgresTestDatabase>>()

/**
 * The database that stands for SQLite's file in a directory: the same one whenever it is opened again, as after a
 * restart. Removing the directory releases it; emptied, it is reused, because creating one takes far longer.
 */
export async function postgresOfDirectory(directory: string): Promise<PostgresTestDatabase> {
  const made = known.get(directory) ?? reuse() ?? createPostgresDatabase({ migrated: true })
  known.set(directory, made)
  return made
}

function reuse(): Promise<PostgresTestDatabase> | undefined {
  for (const [other, made] of known) {
    if (existsSync(other)) continue
    known.delete(other)
    return made.then(emptyOrNew)
  }
  return undefined
}

/** One that a test has broken is of no use to the next. */
async function emptyOrNew(database: PostgresTestDatabase): Promise<PostgresTestDatabase> {
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  try {
    await client.query(endOthers)
    const { rows } = await client.query<{ name: string }>(tableNames)
    const names = new Set(rows.map(({ name }) => name))
    if (Object.keys(movedTables).some((table) => !names.has(table))) return createPostgresDatabase({ migrated: true })
    await client.query(emptyTables)
  } finally {
    await client.end()
  }
  return database
}

const tableNames = `select table_name as name from information_schema.tables where table_schema = 'public'`

const endOthers = `
  select pg_terminate_backend(pid) from pg_stat_activity
  where datname = current_database() and pid <> pg_backend_pid()`

// Deleting from nearly empty tables is much faster than truncating them, which creates new files.
const emptyTables = `
  do $$
  declare place record;
  begin
    set local session_replication_role = replica;
    for place in
      select oid::regclass as name, relkind from pg_class
      where relnamespace = 'public'::regnamespace and relkind in ('r', 'S') and relname <> 'schema_migrations'
    loop
      if place.relkind = 'S' then perform setval(place.name, 1, false);
      else execute format('delete from %s', place.name);
      end if;
    end loop;
  end $$`
