import { existsSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as pause } from 'node:timers/promises'
import { type Kysely, sql } from 'kysely'
import pg from 'pg'
import { FamiliarError } from '../../protocol/errors.ts'
import { allMigrations } from '../../storage/migrations/all-migrations.ts'
import { type Migration, planMigrations, readAppliedMigrations } from '../../storage/migrations/migration.ts'
import {
  createKysely as createPostgresKysely,
  runStatement,
  toStorageError as toPostgresError,
} from '../../storage/postgres/connection.ts'
import { createKysely, createSqliteConnection } from '../../storage/sqlite/connection.ts'
import { planSqliteMigrations } from '../../storage/sqlite/copy-database.ts'
import { meansDamage, toStorageError } from '../../storage/sqlite/sqlite-error.ts'
import type { TransferSource } from './tables.ts'
import { progressMigration } from './transfer-database.ts'

/** A snapshot of the file, unaffected by concurrent writers. It is only read. */
export async function openSqliteSource(path: string): Promise<TransferSource> {
  if (!existsSync(path)) throw new FamiliarError('not_found', `There is no database at ${path}.`)
  const raw = new DatabaseSync(path, { readOnly: true, timeout: 5000 })
  try {
    const connection = createSqliteConnection(raw, path)
    const { pending, isEmpty } = await planSqliteMigrations(connection, path, [...allMigrations, progressMigration])
    const read = createKysely<unknown>(connection)
    raw.exec('begin')
    return { engine: 'sqlite', read, ...stateOf(pending), isEmpty, close: async () => raw.close() }
  } catch (error) {
    raw.close()
    if (meansDamage(error))
      throw new FamiliarError('conflict', `${path} is damaged or not a database.`, { cause: error })
    throw toStorageError(error, path)
  }
}

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
    // It waits while the other side writes, whatever the server's own limit is.
    await client.query('set local idle_in_transaction_session_timeout = 0')
    const applied = (await hasMigrations(read)) ? await readAppliedMigrations(read) : []
    const pending = planMigrations(applied, [...allMigrations, progressMigration])
    const kept = opened.move()
    const isEmpty = applied.length === 0
    return { engine: 'postgres', read, ...stateOf(pending), isEmpty, close: () => kept.disposeAsync() }
  } catch (error) {
    throw toPostgresError(error, place)
  }
}

function stateOf(pending: readonly Migration[]) {
  const others = pending.filter((migration) => migration !== progressMigration)
  return { pending: others.map(({ name }) => name), isUnfinished: others.length === pending.length }
}

function createReader(client: pg.ClientBase, place: string): Kysely<unknown> {
  const wiring = { nameStatement: () => undefined }
  return createPostgresKysely((query) =>
    runStatement(client, query, wiring).catch((error) => {
      throw toPostgresError(error, place)
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
    const counted = await sql<{ count: number }>`
      select count(*) as count from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid() and application_name like 'familiar%'`.execute(
      read,
    )
    if ((counted.rows[0]?.count ?? 0) === 0) return
    await pause(pauseMs)
  }
  throw new FamiliarError('conflict', `${place} is in use by a running Familiar. Stop every daemon that uses it first.`)
}
