import pg from 'pg'
import { systemClock } from '../../../src/base/clock.ts'
import { openPostgres } from '../../../src/storage/postgres/open-postgres.ts'
import { type RunningPostgres, startPostgres } from './start-postgres.ts'

export interface PostgresTestDatabase extends AsyncDisposable {
  name: string
  url: string
  /** Ends the connections that are still open. */
  drop(): Promise<void>
}

let server: Promise<RunningPostgres> | undefined
let template: Promise<string> | undefined
let admin: pg.Pool | undefined
let count = 0

/** The one server of this process, started by the first who asks. */
export function sharedPostgres(): Promise<RunningPostgres> {
  server ??= startPostgres()
  return server
}

/**
 * A separate database on the shared server: empty, with the current tables, or a copy of another one without
 * connections.
 */
export async function createPostgresDatabase({
  migrated = false,
  from,
}: {
  migrated?: boolean
  from?: PostgresTestDatabase | undefined
} = {}): Promise<PostgresTestDatabase> {
  const { urlOf } = await sharedPostgres()
  count += 1
  const name = `familiar_test_${process.pid}_${count}`
  if (migrated && !from) template ??= createTemplate()
  const original = from?.name ?? (migrated ? await template : 'template0')
  await execute(`create database ${name} template ${original} strategy file_copy`)
  const drop = () => execute(`drop database if exists ${name} with (force)`)
  return { name, url: urlOf(name), drop, [Symbol.asyncDispose]: drop }
}

async function createTemplate(): Promise<string> {
  const { name, url } = await createPostgresDatabase()
  const database = await openPostgres({ url, clock: systemClock() })
  await database.close()
  return name
}

async function execute(statement: string): Promise<void> {
  const { urlOf } = await sharedPostgres()
  admin ??= new pg.Pool({ connectionString: urlOf('postgres'), max: 2, allowExitOnIdle: true })
  await admin.query(statement)
}
