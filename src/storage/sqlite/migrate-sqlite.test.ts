import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { appendEvent, eventNumbers, openIn, seed, temporaryDirectory } from '../../../test/contract/storage-support.ts'
import { allMigrations } from '../migrations/all-migrations.ts'
import type { Migration } from '../migrations/migration.ts'
import type { Tables } from '../tables.ts'

const addColor: Migration = {
  name: '9001-color',
  async up(db) {
    await db.schema.alterTable('users').addColumn('color', 'text').execute()
  },
}

async function seeded(directory: string): Promise<void> {
  const database = await openIn(directory)
  await seed(database)
  await database.write((writer) => appendEvent(writer, 1))
  await database.close()
}

function columnsOf(path: string, table: string): string[] {
  const raw = new DatabaseSync(path, { readOnly: true })
  const columns = raw.prepare('select name from pragma_table_info(?)').all(table)
  raw.close()
  return columns.map((column) => String(column.name))
}

describe('migrations', () => {
  test('STORE-3 names are unique and in order', () => {
    const names = allMigrations.map((migration) => migration.name)
    expect(names).toEqual([...new Set(names)].toSorted())
  })

  test('STORE-3 the tables are those that the row types name, and the indexes are these', async () => {
    using directory = temporaryDirectory()
    const database = await openIn(directory.path)
    const objects = await sql<{ name: string; type: string }>`
      select name, type from sqlite_schema where name not like 'sqlite_%' and name not like 'text_index_%' order by name
    `.execute(database.read)
    const tables = {
      access_tokens: true,
      cost_ledger: true,
      cost_totals: true,
      inbox: true,
      media: true,
      notes: true,
      session_events: true,
      session_snapshots: true,
      sessions: true,
      users: true,
    } satisfies Record<keyof Tables, true>
    const of = (type: string) => objects.rows.filter((row) => row.type === type).map((row) => row.name)
    expect(of('table')).toEqual([...Object.keys(tables), 'schema_migrations', 'text_entries', 'text_index'].toSorted())
    expect(of('index')).toEqual([
      'cost_ledger_by_time',
      'cost_ledger_by_turn',
      'cost_ledger_reserved',
      'inbox_by_turn',
      'inbox_open',
      'notes_by_time',
      'session_events_by_turn',
      'sessions_active',
      'sessions_by_user',
    ])
    await database.close()
  })

  test.each([
    ['select * from inbox where state != ? and state = ?', ['done', 'queued'], 'inbox_open'],
    ['select * from inbox where turn_id = ?', ['t'], 'inbox_by_turn'],
    ["select * from cost_ledger where state = 'reserved'", [], 'cost_ledger_reserved'],
    ['select * from session_events where turn_id = ?', ['t'], 'session_events_by_turn'],
    ['select * from notes where user_id = ? order by created_at desc', ['a'], 'notes_by_time'],
    ['select * from sessions where user_id = ? order by updated_at desc', ['a'], 'sessions_by_user'],
  ])('STORE-3 %s uses its index', async (query, values, index) => {
    using directory = temporaryDirectory()
    await seeded(directory.path)
    const raw = new DatabaseSync(join(directory.path, 'familiar.db'))
    const plan = raw.prepare(`explain query plan ${query}`).all(...values)
    raw.close()
    expect(plan.map((row) => row.detail).join('\n')).toContain(index)
  })

  test('STORE-3 a fresh database needs no snapshot', async () => {
    using directory = temporaryDirectory()
    await seeded(directory.path)
    expect(existsSync(join(directory.path, 'backups'))).toBe(false)
  })

  test('STORE-3 SEC-20 one with data is copied first; the copy is whole, private and of the old state', async () => {
    using directory = temporaryDirectory()
    await seeded(directory.path)
    const messages: string[] = []
    const database = await openIn(directory.path, {
      migrations: [...allMigrations, addColor],
      log: { info: (message) => messages.push(message) },
    })
    expect(await eventNumbers(database)).toEqual([1])
    await database.close()
    expect(columnsOf(join(directory.path, 'familiar.db'), 'users')).toContain('color')

    const [snapshot = '', ...others] = readdirSync(join(directory.path, 'backups'))
    expect(others).toEqual([])
    expect(snapshot).toMatch(/^familiar-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}Z-before-9001-color\.db$/)
    const path = join(directory.path, 'backups', snapshot)
    expect(columnsOf(path, 'users')).not.toContain('color')
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(messages).toHaveLength(1)
    const raw = new DatabaseSync(path)
    expect(raw.prepare('select seq from session_events').all()).toEqual([{ seq: 1 }])
    expect(raw.prepare('pragma integrity_check').all()).toEqual([{ integrity_check: 'ok' }])
    raw.close()
  })

  test('STORE-3 applied ones are not applied again', async () => {
    using directory = temporaryDirectory()
    await seeded(directory.path)
    for (let start = 0; start < 3; start += 1) {
      const database = await openIn(directory.path, { migrations: [...allMigrations, addColor] })
      await database.close()
    }
    expect(readdirSync(join(directory.path, 'backups'))).toHaveLength(1)
  })

  test('STORE-3 SEC-20 a database of a newer version is refused and not a byte of it changed', async () => {
    using directory = temporaryDirectory()
    const newer = await openIn(directory.path, { migrations: [...allMigrations, addColor] })
    await newer.close()
    const path = join(directory.path, 'familiar.db')
    const before = readFileSync(path)
    await expect(openIn(directory.path)).rejects.toThrow(/newer version of Familiar \(it holds 9001-color\)/)
    expect(readFileSync(path).equals(before)).toBe(true)
    expect(readdirSync(directory.path)).toEqual(['familiar.db'])
  })

  test.each([
    ['throws after half of its work', 'no further', async () => Promise.reject(new Error('no further'))],
    [
      'leaves rows without their parents',
      'without their parents',
      (db: Parameters<Migration['up']>[0]) => sql`delete from users`.execute(db),
    ],
  ])('STORE-3 SEC-20 a migration that %s leaves the old state', async (_what, message, fail) => {
    using directory = temporaryDirectory()
    await seeded(directory.path)
    const broken: Migration = {
      name: '9002-broken',
      async up(db) {
        await db.schema.createTable('half').addColumn('id', 'text').execute()
        await fail(db)
      },
    }
    await expect(openIn(directory.path, { migrations: [...allMigrations, addColor, broken] })).rejects.toThrow(message)
    const path = join(directory.path, 'familiar.db')
    expect(columnsOf(path, 'half')).toEqual([])
    expect(columnsOf(path, 'users')).not.toContain('color')
    const database = await openIn(directory.path)
    expect(await eventNumbers(database)).toEqual([1])
    await database.close()
  })

  test('STORE-3 a table can be rebuilt without losing the rows that refer to it', async () => {
    using directory = temporaryDirectory()
    await seeded(directory.path)
    const rebuild: Migration = {
      name: '9003-rebuild',
      async up(db) {
        await sql`create table fresh as select * from users`.execute(db)
        await db.schema.dropTable('users').execute()
        await sql`create table users (id text primary key, name text, role text, created_at bigint)`.execute(db)
        await sql`insert into users select * from fresh`.execute(db)
        await db.schema.dropTable('fresh').execute()
      },
    }
    const database = await openIn(directory.path, { migrations: [...allMigrations, rebuild] })
    expect(await eventNumbers(database)).toEqual([1])
    const rows = await database.write((writer) => sql`pragma foreign_keys`.execute(writer))
    expect(rows.rows).toEqual([{ foreign_keys: 1 }])
    await database.close()
  })

  test('STORE-3 the database of another program is refused and left alone', async () => {
    using directory = temporaryDirectory()
    const path = join(directory.path, 'familiar.db')
    const raw = new DatabaseSync(path)
    raw.exec('create table bookmarks (url text)')
    raw.close()
    const before = readFileSync(path)
    await expect(openIn(directory.path)).rejects.toThrow(/is not a Familiar database/)
    expect(readFileSync(path).equals(before)).toBe(true)
  })

  test('STORE-3 without a place for the snapshot nothing is migrated', async () => {
    using directory = temporaryDirectory()
    await seeded(directory.path)
    writeFileSync(join(directory.path, 'backups'), 'in the way')
    await expect(openIn(directory.path, { migrations: [...allMigrations, addColor] })).rejects.toThrow()
    expect(columnsOf(join(directory.path, 'familiar.db'), 'users')).not.toContain('color')
  })
})
