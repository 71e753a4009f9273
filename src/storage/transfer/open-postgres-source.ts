import { setTimeout as pause } from 'node:timers/promises'
import { type Kysely, sql } from 'kysely'
import pg from 'pg'
import { FamiliarError } from '../../protocol/error.ts'
import { allMigrations } from '../migrations/all-migrations.ts'
import { planMigrations, readAppliedMigrations } from '../migrations/run-migrations.ts'
import { createKysely } from '../postgres/postgres-dialect.ts'
import { toStorageError } from '../postgres/postgres-error.ts'
import { runStatement } from '../postgres/run-statement.ts'
import { progressMigration } from './transfer-progress.ts'
import type { TransferSource } from './transfer-source.ts'

const named = { fallback_application_name: 'familiar migrate' }

/** One state of the database, over one connection that cannot write. Refuses where a Familiar is connected to it. */
export async function openPostgresSource(url: string): Promise<TransferSource> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 10_000, ...named })
  const place = `The PostgreSQL database ${client.database} at ${client.host}`
  // A connection that is lost says so to the statement that needs it.
  client.on('error', () => {})
  await using opened = new AsyncDisposableStack()
  opened.defer(() => client.end())
  try {
    await client.connect()
    const read = createReader(client, place)
    await refuseConnected(read, place)
    await client.query('begin isolation level repeatable read read only')
    // It waits for as long as the other end writes, whatever the server's own limit is.
    await client.query('set local idle_in_transaction_session_timeout = 0')
    const applied = (await hasMigrations(read)) ? await readAppliedMigrations(read) : []
    const pending = planMigrations(applied, [...allMigrations, progressMigration])
    const kept = opened.move()
    return {
      engine: 'postgres',
      read,
      pending: pending.filter((migration) => migration !== progressMigration).map(({ name }) => name),
      isEmpty: applied.length === 0,
      isUnfinished: !pending.includes(progressMigration),
      close: () => kept.disposeAsync(),
    }
  } catch (error) {
    throw toStorageError(error, place)
  }
}

function createReader(client: pg.ClientBase, place: string): Kysely<unknown> {
  const wiring = { nameStatement: () => undefined }
  return createKysely((query) =>
    runStatement(client, query, wiring).catch((error) => {
      throw toStorageError(error, place)
    }),
  )
}

async function hasMigrations(read: Kysely<unknown>): Promise<boolean> {
  const found = await sql<{ name: string | null }>`
    select to_regclass('schema_migrations')::text as name`.execute(read)
  return (found.rows[0]?.name ?? null) !== null
}

const looks = 20
const pauseMs = 100

/** One that has just been stopped may still be on its way out. */
async function refuseConnected(read: Kysely<unknown>, place: string): Promise<void> {
  for (let look = 0; look < looks; look += 1) {
    if ((await countConnected(read)) === 0) return
    await pause(pauseMs)
  }
  throw new FamiliarError(
    'conflict',
    `${place} is in use by a running Familiar. Stop every daemon that works with it first.`,
  )
}

async function countConnected(read: Kysely<unknown>): Promise<number> {
  const counted = await sql<{ count: number }>`
    select count(*) as count from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid() and application_name like 'familiar%'`.execute(read)
  return counted.rows[0]?.count ?? 0
}
