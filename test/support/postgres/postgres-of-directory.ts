import { existsSync } from 'node:fs'
import pg from 'pg'
import { createPostgresDatabase, type PostgresTestDatabase } from './postgres-database.ts'

const known = new Map<string, Promise<PostgresTestDatabase>>()

/**
 * The database that stands for SQLite's file in a directory: the same one whenever that is opened again, as after a
 * restart. Who removes the directory has done with it; emptied, it serves the next one, for making one takes far longer.
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
    return made.then(empty)
  }
  return undefined
}

async function empty(database: PostgresTestDatabase): Promise<PostgresTestDatabase> {
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  try {
    await client.query(endOthers)
    await client.query(emptyTables)
  } finally {
    await client.end()
  }
  return database
}

const endOthers = `
  select pg_terminate_backend(pid) from pg_stat_activity
  where datname = current_database() and pid <> pg_backend_pid()`

// Deleting from tables that hold next to nothing is much quicker than truncating them, which makes files anew.
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
