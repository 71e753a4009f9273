import pg from 'pg'
import { describe, expect, it } from 'vitest'
import {
  appendEvent,
  event,
  eventNumbers,
  openIn,
  seed,
  temporaryDirectory,
} from '../../../test/contract/storage-support.ts'
import { createPostgresDatabase, sharedPostgres } from '../../../test/support/postgres/postgres-database.ts'
import { whyNoPostgres } from '../../../test/support/postgres/start-postgres.ts'
import { systemClock } from '../../base/clock.ts'
import type { Database } from '../database.ts'
import { allMigrations } from '../migrations/all-migrations.ts'
import { type OpenPostgresOptions, openPostgres } from './open-postgres.ts'

const open = (url: string, options: Partial<OpenPostgresOptions> = {}) =>
  openPostgres({ url, clock: systemClock(), poolSize: 4, ...options })

async function execute(url: string, statement: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client(url)
  await client.connect()
  try {
    return (await client.query(statement)).rows
  } finally {
    await client.end()
  }
}

const tablesOf = (url: string) => execute(url, `select 1 from pg_tables where schemaname = 'public'`)

const missing = whyNoPostgres()

describe.skipIf(missing)(missing ?? 'a PostgreSQL database', () => {
  it('SCALE-1 many daemons that start at once migrate it once', async () => {
    await using made = await createPostgresDatabase()
    const said: string[] = []
    const log = { info: (text: string) => said.push(text), warn() {} }
    const opened = await Promise.all([1, 2, 3, 4].map(() => open(made.url, { log })))
    expect(said).toEqual(['database migrated'])
    await Promise.all(opened.map((database) => database.close()))
    const rows = await execute(made.url, 'select name from schema_migrations order by name')
    expect(rows.map(({ name }) => name)).toEqual(allMigrations.map(({ name }) => name))
  })

  it('SCALE-1 a failed migration leaves no trace', async () => {
    await using made = await createPostgresDatabase()
    const broken = { name: '9999-broken', up: async () => Promise.reject(new Error('no')) }
    const opening = open(made.url, { migrations: [...allMigrations, broken] })
    await expect(opening).rejects.toThrow(/9999-broken failed \(no\)/)
    expect(await tablesOf(made.url)).toEqual([])
  })

  it('SCALE-1 rejects a database that a newer version migrated', async () => {
    await using made = await createPostgresDatabase()
    const newer = { name: '9999-newer', up: async () => {} }
    await (await open(made.url, { migrations: [...allMigrations, newer] })).close()
    await expect(open(made.url)).rejects.toMatchObject({ code: 'conflict' })
  })

  it('SCALE-1 does not touch tables of another program', async () => {
    await using made = await createPostgresDatabase()
    await execute(made.url, 'create table schema_migrations (version text)')
    await expect(open(made.url)).rejects.toMatchObject({ code: 'conflict' })
    expect(await tablesOf(made.url)).toHaveLength(1)
  })

  it('SCALE-1 sorts text by bytes and keeps U+0000, like SQLite', async () => {
    using directory = temporaryDirectory()
    await using made = await createPostgresDatabase({ migrated: true })
    const texts = ['b', 'B', 'a', 'ä', 'é', 'e', '_', ' a', '', '\u0000', 'a\u0000', 'a\u0001', '\u{1f600}', '\uffee']
    const inOrder = async (database: Database) => {
      await seed(database)
      await database.write(async (writer) => {
        for (const [at, data] of texts.entries()) await appendEvent(writer, at, data)
      })
      const rows = await database.read.selectFrom('session_events').select('data').orderBy('data').execute()
      const found = await database.read
        .selectFrom('session_events')
        .select('seq')
        .where('data', 'in', ['a\u0000'])
        .execute()
      await database.close()
      return { order: rows.map(({ data }) => data), found }
    }
    const postgres = await inOrder(await open(made.url))
    expect(postgres).toEqual(await inOrder(await openIn(directory.path)))
    expect(postgres.order.toSorted()).toEqual(texts.toSorted())
  })

  it('SCALE-1 returns numbers, sums, bytes and empty lists like SQLite', async () => {
    using directory = temporaryDirectory()
    await using made = await createPostgresDatabase({ migrated: true })
    const answers = async (database: Database) => {
      await seed(database)
      const written = await database.write(async (writer) => {
        await writer
          .insertInto('session_events')
          .values([event(1), event(2)])
          .execute()
        return writer
          .updateTable('session_events')
          .set({ at: 2 ** 40 })
          .where('seq', '<', 9)
          .executeTakeFirst()
      })
      const { read } = database
      const sum = await read
        .selectFrom('session_events')
        .select(({ fn }) => [fn.countAll<number>().as('count'), fn.sum<number>('at').as('sum')])
        .executeTakeFirst()
      const none = await read.selectFrom('session_events').select('seq').where('seq', 'in', []).execute()
      const all = await read.selectFrom('session_events').select('seq').where('seq', 'not in', []).execute()
      await database.close()
      return { changed: written.numUpdatedRows, sum, none, all: all.length }
    }
    const postgres = await answers(await open(made.url))
    expect(postgres).toEqual({ changed: 2n, sum: { count: 2, sum: 2 ** 41 }, none: [], all: 2 })
    expect(postgres).toEqual(await answers(await openIn(directory.path)))
  })

  it('SEC-13 SCALE-1 removes secrets from every text that is written', async () => {
    await using made = await createPostgresDatabase({ migrated: true })
    const database = await open(made.url, { redact: (text) => text.replaceAll('hunter2', '***') })
    await seed(database)
    await database.write((writer) => appendEvent(writer, 1, '{"password":"hunter2"}'))
    expect(await database.read.selectFrom('session_events').select('data').execute()).toEqual([
      { data: '{"password":"***"}' },
    ])
    await database.close()
  })

  it('SCALE-1 errors say what is wrong and what to do, and never contain the password', async () => {
    const { urlOf, directory } = await sharedPostgres()
    const refusals = [
      ['nothing to see', 'bad_request', /not valid/],
      ['mysql://ada:hunter2@localhost/x', 'bad_request', /postgres:\/\//],
      ['postgres://ada:hunter2@localhost:1/x', 'unavailable', /x at localhost:1 cannot be reached/],
      [`postgres://ada:hunter2@localhost/x?host=${directory}`, 'unavailable', /rejected the user/],
      [urlOf('nowhere'), 'unavailable', /does not exist.*createdb/],
    ] as const
    for (const [url, code, message] of refusals) {
      const error = await open(url).catch((reason: unknown) => reason)
      expect(error).toMatchObject({ code, message: expect.stringMatching(message) })
      expect((error as Error).message).not.toContain('hunter2')
    }
  })

  it('SCALE-1 reports a user that cannot create tables, and a read-only database', async () => {
    await using made = await createPostgresDatabase()
    await execute(made.url, `do $$ begin create role guest login; exception when duplicate_object then null; end $$`)
    const asGuest = made.url.replace('postgres@', 'guest@')
    await expect(open(asGuest)).rejects.toMatchObject({ message: expect.stringMatching(/does not permit its user/) })
    await execute(made.url, `alter database ${made.name} set default_transaction_read_only = on`)
    await expect(open(made.url)).rejects.toMatchObject({ message: expect.stringMatching(/is read-only/) })
  })

  it('SCALE-1 leaves backups to PostgreSQL, and finds a broken index', async () => {
    await using made = await createPostgresDatabase({ migrated: true })
    await execute(made.url, 'create extension amcheck')
    const database = await open(made.url)
    await expect(database.backup('/nowhere')).rejects.toMatchObject({ message: expect.stringMatching(/pg_dump/) })
    expect(await database.checkIntegrity()).toEqual([])
    await execute(made.url, `update pg_index set indisvalid = false where indexrelid = 'inbox_by_turn'::regclass`)
    expect(await database.checkIntegrity()).toEqual(['the index inbox_by_turn is not valid'])
    await database.close()
  })

  it('SCALE-2 uses a database again after it comes back; waiting reads and units succeed', async () => {
    await using made = await createPostgresDatabase({ migrated: true })
    const database = await open(made.url)
    await seed(database)
    const breakOff = `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${made.name}' and pid <> pg_backend_pid()`
    const { urlOf } = await sharedPostgres()
    for (const seq of [1, 2, 3]) {
      await execute(urlOf('postgres'), breakOff)
      await database.write((writer) => appendEvent(writer, seq))
      await execute(urlOf('postgres'), breakOff)
      expect(await eventNumbers(database)).toHaveLength(seq)
    }
    await database.close()
  })
})
