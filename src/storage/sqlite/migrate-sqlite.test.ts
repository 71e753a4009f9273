import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { appendEvent, eventNumbers, openIn, seed, temporaryDirectory } from '../../../test/contract/storage-support.ts'
import { sha256 } from '../../base/ids.ts'
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

// A sort term that is not in the index only decides between rows of the same time.
const memoryQueries = [
  ["memories where user_id = 'u' and id = 'i'", 'sqlite_autoindex_memories_1 (id=?)'],
  ["memories where user_id = 'u' and id in ('i', 'j')", 'sqlite_autoindex_memories_1 (id=?)'],
  [
    "memories where user_id = 'u' and content_hash = 'h' and kind = 'note' and superseded_at is null",
    'memories_by_user_id_content_hash_kind (user_id=? AND content_hash=? AND kind=?)',
  ],
  [
    "memories where user_id = 'u' and superseded_at is null and (created_at, id) < (1, 'i') order by created_at desc, id desc limit 9",
    'memories_by_user_id_created_at_id (user_id=? AND (created_at,id)<(?,?))',
  ],
  [
    "memories where user_id = 'u' and superseded_at is null and kind = 'note' and (created_at, id) < (1, 'i') order by created_at desc, id desc limit 9",
    'memories_by_user_id_kind_created_at_id (user_id=? AND kind=? AND (created_at,id)<(?,?))',
  ],
  [
    "memories where user_id = 'u' and (created_at, id) > (1, 'i') order by created_at, id limit 9",
    'memories_by_user_id_created_at_id (user_id=? AND (created_at,id)>(?,?))',
  ],
  [
    "memories where user_id = 'u' and title = 't' order by number desc limit 1",
    'memories_by_title (user_id=? AND title=?)',
  ],
  [
    "memories where user_id = 'u' and thread_id = 't' and position between 1 and 3",
    'memories_by_place (user_id=? AND thread_id=? AND position>? AND position<?)',
  ],
  [
    "facts where user_id = 'u' and entity_key in ('e', 'f') and attribute_key = 'a' and valid_to is null",
    'facts_by_user_id_entity_key_attribute_key_valid_from (user_id=? AND entity_key=? AND attribute_key=?)',
  ],
  [
    "facts where user_id = 'u' and valid_to is null and attribute_key = 'a' and entity_key = 'e' order by valid_from desc, id desc limit 9",
    'facts_by_user_id_entity_key_attribute_key_valid_from (user_id=? AND entity_key=? AND attribute_key=?); USE TEMP B-TREE FOR LAST TERM OF ORDER BY',
  ],
  [
    "facts where user_id = 'u' and valid_to is null and entity_key = 'e' order by valid_from desc, id desc limit 9",
    'facts_by_user_id_entity_key_valid_from (user_id=? AND entity_key=?); USE TEMP B-TREE FOR LAST TERM OF ORDER BY',
  ],
  [
    "facts where user_id = 'u' and valid_to is null and attribute_key = 'a' order by valid_from desc, id desc limit 9",
    'facts_by_user_id_attribute_key_valid_from (user_id=? AND attribute_key=?); USE TEMP B-TREE FOR LAST TERM OF ORDER BY',
  ],
  [
    "facts where user_id = 'u' and valid_to is null order by valid_from desc, id desc limit 9",
    'facts_by_user_id_valid_from (user_id=?); USE TEMP B-TREE FOR LAST TERM OF ORDER BY',
  ],
  [
    "facts where user_id = 'u' and valid_to is null and value_key = 'v'",
    'facts_by_user_id_value_key_attribute_key (user_id=? AND value_key=?)',
  ],
  [
    "facts where user_id = 'u' and valid_to is null and attribute_key = 'a' and value_key = 'v'",
    'facts_by_user_id_value_key_attribute_key (user_id=? AND value_key=? AND attribute_key=?)',
  ],
  [
    "entity_aliases where user_id = 'u' and alias_key in ('a', 'b')",
    'sqlite_autoindex_entity_aliases_1 (user_id=? AND alias_key=?)',
  ],
  [
    "entity_aliases where user_id = 'u' and entity_key in ('a', 'b')",
    'entity_aliases_by_user_id_entity_key (user_id=? AND entity_key=?)',
  ],
  [
    "episodes where user_id = 'u' and ended_at >= 1 order by ended_at desc, id desc limit 9",
    'episodes_by_user_id_ended_at (user_id=? AND ended_at>?); USE TEMP B-TREE FOR LAST TERM OF ORDER BY',
  ],
  [
    "commitments where user_id = 'u' and state = 'open' and deadline >= 1 order by deadline limit 9",
    'commitments_by_user_id_state_deadline (user_id=? AND state=? AND deadline>?)',
  ],
  [
    "commitments where user_id = 'u' and state = 'done' order by closed_at desc limit 9",
    'commitments_by_user_id_state_closed_at (user_id=? AND state=?)',
  ],
  [
    "commitments where user_id = 'u' and what_key = 'w' and state = 'open'",
    'commitments_by_user_id_what_key_state (user_id=? AND what_key=? AND state=?)',
  ],
  [
    "memory_edges where user_id = 'u' and source_id = 's' order by weight desc limit 9",
    'memory_edges_by_source_id_weight (source_id=?)',
  ],
  [
    "memory_edges where user_id = 'u' and target_id = 't' order by weight desc limit 9",
    'memory_edges_by_target_id_weight (target_id=?)',
  ],
  [
    "memory_edges where user_id = 'u' order by created_at desc limit 9",
    'memory_edges_by_user_id_created_at (user_id=?)',
  ],
  [
    "memory_changes where user_id = 'u' and undo_until >= 1 order by at desc, id desc limit 9",
    'memory_changes_by_user_id_at (user_id=?); USE TEMP B-TREE FOR LAST TERM OF ORDER BY',
  ],
  ['memory_changes where undo_until < 1', 'memory_changes_by_undo_until (undo_until<?)'],
  ["memory_marks where user_id = 'u' and name = 'cycles'", 'sqlite_autoindex_memory_marks_1 (user_id=? AND name=?)'],
]

describe('migrations', () => {
  test('STORE-3 names are unique and in order', () => {
    const names = allMigrations.map((migration) => migration.name)
    expect(names).toEqual([...new Set(names)].toSorted())
  })

  test('ORG-1 FIND-3 a database from before folders keeps its conversations, and all their messages are still to be indexed', async () => {
    using directory = temporaryDirectory()
    const before = allMigrations.filter(({ name }) => name < '0018')
    const old = await openIn(directory.path, { migrations: before })
    await old.write(async (writer) => {
      await sql`insert into users (id, name, role, created_at) values ('ada', 'Ada', 'owner', 0)`.execute(writer)
      await sql`
        insert into sessions (id, user_id, channel, contact, state, last_seq, last_input_tokens, created_at, updated_at)
        values ('s', 'ada', 'web', 'one', 'active', 7, 0, 0, 0)`.execute(writer)
      await sql`insert into session_views (session_id, title, read_seq, pinned) values ('s', 'Trains', 3, 1)`.execute(
        writer,
      )
    })
    await old.close()
    const database = await openIn(directory.path)
    const rows = await database.read
      .selectFrom('sessions')
      .innerJoin('session_views', 'session_views.session_id', 'sessions.id')
      .select(['last_seq', 'searched_seq', 'deleted_at', 'deleted_from', 'title', 'pinned', 'folder_id'])
      .execute()
    const kept = { last_seq: 7, title: 'Trains', pinned: 1 }
    expect(rows).toEqual([{ ...kept, searched_seq: 0, deleted_at: null, deleted_from: null, folder_id: null }])
    await database.close()
  })

  test('STORE-3 the tables are those of the row types, with exactly these indexes', async () => {
    using directory = temporaryDirectory()
    const database = await openIn(directory.path)
    const objects = await sql<{ name: string; type: string }>`
      select name, type from sqlite_schema where name not like 'sqlite_%' and name not like 'text_index_%' order by name
    `.execute(database.read)
    const tables = {
      access_tokens: true,
      approvals: true,
      grants: true,
      client_telemetry: true,
      cost_ledger: true,
      cost_totals: true,
      inbox: true,
      media: true,
      memories: true,
      facts: true,
      episodes: true,
      commitments: true,
      memory_files: true,
      chunks: true,
      entity_aliases: true,
      fact_attributes: true,
      memory_edges: true,
      memory_vectors: true,
      memory_tags: true,
      memory_changes: true,
      memory_marks: true,
      memory_speakers: true,
      secrets: true,
      session_events: true,
      session_snapshots: true,
      sessions: true,
      tool_calls: true,
      tool_settings: true,
      tool_states: true,
      tool_vectors: true,
      tool_weights: true,
      trigger_runs: true,
      users: true,
      asset_versions: true,
      untrusted_files: true,
      blocks: true,
      client_calls: true,
      pins: true,
      schedule_runs: true,
      schedules: true,
      spawns: true,
      build_events: true,
      build_files: true,
      build_questions: true,
      builds: true,
      capabilities: true,
      capability_storage: true,
      capability_vectors: true,
      capability_versions: true,
      webhook_nonces: true,
      outbox: true,
      delivery_cursors: true,
      channel_marks: true,
      channel_contacts: true,
      pairing_codes: true,
      one_time_links: true,
      browsers: true,
      session_views: true,
      session_folders: true,
      daemons: true,
      session_holders: true,
    } satisfies Record<keyof Tables, true>
    const textTables = ['text_entries', 'text_index', 'text_scopes']
    const of = (type: string) => objects.rows.filter((row) => row.type === type).map((row) => row.name)
    expect(of('table')).toEqual([...Object.keys(tables), 'schema_migrations', ...textTables].toSorted())
    expect(of('index')).toEqual([
      'approvals_by_session_id_state',
      'approvals_by_user_id_state_asked_at',
      'build_questions_by_build_id_state',
      'builds_by_capability_id_created_at',
      'builds_by_user_id_state',
      'builds_running',
      'chunks_by_file_id_first_line',
      'client_calls_by_turn',
      'commitments_by_user_id_state_closed_at',
      'commitments_by_user_id_state_deadline',
      'commitments_by_user_id_what_key_state',
      'cost_ledger_by_time',
      'cost_ledger_by_turn',
      'cost_ledger_reserved',
      'entity_aliases_by_user_id_entity_key',
      'episodes_by_user_id_ended_at',
      'facts_by_user_id_attribute_key_valid_from',
      'facts_by_user_id_entity_key_attribute_key_valid_from',
      'facts_by_user_id_entity_key_valid_from',
      'facts_by_user_id_valid_from',
      'facts_by_user_id_value_key_attribute_key',
      'grants_by_subject',
      'inbox_by_turn',
      'inbox_open',
      'inbox_open_by_session',
      'memories_by_place',
      'memories_by_title',
      'memories_by_turn',
      'memories_by_user_id_content_hash_kind',
      'memories_by_user_id_created_at_id',
      'memories_by_user_id_kind_created_at_id',
      'memories_standing',
      'memory_changes_by_undo_until',
      'memory_changes_by_user_id_at',
      'memory_edges_by_source_id_weight',
      'memory_edges_by_target_id_weight',
      'memory_edges_by_user_id_created_at',
      'memory_tags_by_number',
      'memory_vectors_by_model_user_id',
      'memory_vectors_by_text_hash',
      'outbox_by_user_id',
      'outbox_open',
      'schedule_runs_by_state_due_at',
      'schedules_by_state_next_at',
      'schedules_by_user_id_state',
      'session_events_by_turn',
      'session_folders_by_user',
      'session_jumps',
      'sessions_active',
      'sessions_by_user',
      'sessions_deleted',
      'spawns_open',
      'tool_calls_by_user_id_at',
      'tool_calls_by_user_id_tool_at',
      'tool_weights_by_user_id_updated_at',
      'trigger_runs_by_tool_due_at',
    ])
    await database.close()
  })

  test.each([
    ['select * from inbox where state != ? and state = ?', ['done', 'queued'], 'inbox_open'],
    ['select * from inbox where state != ? and session_id = ?', ['done', 's'], 'inbox_open_by_session'],
    ['select * from client_calls where turn_id = ?', ['t'], 'client_calls_by_turn'],
    ['select * from inbox where turn_id = ?', ['t'], 'inbox_by_turn'],
    ["select * from cost_ledger where state = 'reserved'", [], 'cost_ledger_reserved'],
    ['select * from session_events where turn_id = ?', ['t'], 'session_events_by_turn'],
    ['select * from sessions where user_id = ? order by updated_at desc', ['a'], 'sessions_by_user'],
    ['select * from builds where state = ?', ['running'], 'builds_running'],
    ['select * from spawns where result is null', [], 'spawns_open'],
    ['select * from schedules where user_id = ? and state = ?', ['a', 'active'], 'schedules_by_'],
  ])('STORE-3 %s uses its index', async (query, values, index) => {
    using directory = temporaryDirectory()
    await seeded(directory.path)
    const raw = new DatabaseSync(join(directory.path, 'familiar.db'))
    const plan = raw.prepare(`explain query plan ${query}`).all(...values)
    raw.close()
    expect(plan.map((row) => row.detail).join('\n')).toContain(index)
  })

  test('STORE-3 MEM-1 every memory query uses its index', async () => {
    using directory = temporaryDirectory()
    await seeded(directory.path)
    const raw = new DatabaseSync(join(directory.path, 'familiar.db'))
    const plans = memoryQueries.map(([query]) => {
      const plan = raw.prepare(`explain query plan select * from ${query}`).all()
      const details = plan.map((row) => String(row.detail).replace(/^SEARCH \w+ USING INDEX /, ''))
      return [query, details.join('; ')]
    })
    raw.close()
    expect(plans).toEqual(memoryQueries)
  })

  test('STORE-3 a fresh database needs no snapshot', async () => {
    using directory = temporaryDirectory()
    await seeded(directory.path)
    expect(existsSync(join(directory.path, 'backups'))).toBe(false)
  })

  test('STORE-3 SEC-20 a database with data is copied first; the copy is complete, private and of the old state', async () => {
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

  test('STORE-3 MEM-1 existing notes become memories, are still found, and a snapshot is kept', async () => {
    using directory = temporaryDirectory()
    const [core, textSearch, memory] = allMigrations
    if (!core || !textSearch || memory?.name !== '0003-memory') throw new Error('other migrations are first')
    const old = await openIn(directory.path, { migrations: [core, textSearch] })
    await seed(old)
    const notes = [
      { id: 'tea', content: 'I like green tea', tags: '["drink"]', source: 'user', at: 2 },
      { id: 'sushi', content: '私は寿司が好き', tags: '[]', source: 'agent', at: 1 },
    ]
    await old.write(async (writer) => {
      for (const { id, content, tags, source, at } of notes) {
        await sql`insert into notes values (${id}, 'user', ${content}, ${tags}, ${source}, 'session', 't', ${at})`.execute(
          writer,
        )
        await old.textSearch.index(writer, { collection: 'notes', userId: 'user', id, text: content })
      }
    })
    await old.close()

    const database = await openIn(directory.path)
    const search = async (words: string, collection = 'memories') =>
      (await database.textSearch.search({ collection, userId: 'user', words, limit: 9 })).map(({ id }) => id)
    expect(await search('teas')).toEqual(['tea'])
    expect(await search('drink')).toEqual(['tea'])
    expect(await search('寿司')).toEqual(['sushi'])
    expect(await search('tea', 'notes')).toEqual([])
    const rows = await database.read.selectFrom('memories').selectAll().orderBy('number').execute()
    expect(rows.map((row) => row.id)).toEqual(['sushi', 'tea'])
    expect(rows[1]).toMatchObject({
      user_id: 'user',
      kind: 'note',
      content: 'I like green tea',
      content_hash: sha256('I like green tea').slice(0, 32),
      tags: '["drink"]',
      tier: 'long_term',
      source: 'user',
      label: 'owner',
      session_id: 'session',
      turn_id: 't',
      created_at: 2,
      used_at: 2,
      superseded_at: null,
    })
    expect(await database.checkIntegrity()).toEqual([])
    await database.close()
    const snapshots = readdirSync(join(directory.path, 'backups'))
    expect(snapshots).toEqual([expect.stringMatching(/-before-0003-memory\.db$/)])
    expect(columnsOf(join(directory.path, 'backups', snapshots[0] ?? ''), 'notes')).toContain('content')
  })

  test('STORE-3 MEM-3 existing memories are found in every word form and by tag, and long ones are embedded again', async () => {
    using directory = temporaryDirectory()
    const before = allMigrations.filter(({ name }) => name < '0011')
    const old = await openIn(directory.path, { migrations: before })
    await seed(old)
    const long = `${'We walked along the river. '.repeat(100)}The key is in the drawer.`
    const contents = ['Ich wohne in der Goethestraße', long, 'مِفتاحُ البَيتِ عند رنا']
    await old.write(async (writer) => {
      await sql`insert into text_scopes (number, collection, user_id) values (1, 'memories', 'user')`.execute(writer)
      for (const [index, content] of contents.entries()) {
        const [number, id] = [index + 1, `m${index + 1}`]
        await sql`
          insert into memories (number, id, user_id, kind, content, content_hash, tags, tier, priority, source, label,
            passages, is_standing, created_at, updated_at, used_at, use_count, cycle)
          values (${number}, ${id}, 'user', 'note', ${content}, ${id}, '["home"]', 'long_term', 0.8, 'user', 'owner',
            1, 0, ${number}, ${number}, ${number}, 0, 0)`.execute(writer)
        const place = BigInt(2 ** 32 + number)
        await sql`insert into text_entries (number, collection, id) values (${place}, 'memories', ${id})`.execute(
          writer,
        )
        await sql`insert into text_index (rowid, text) values (${place}, ${content})`.execute(writer)
        await sql`
          insert into memory_vectors (number, user_id, model, text_hash, vector)
          values (${number}, 'user', 'small', ${id}, ${Buffer.from([0, 0, 0, 0, 1])})`.execute(writer)
      }
    })
    const search = async (database: typeof old, words: string) =>
      (await database.textSearch.search({ collection: 'memories', userId: 'user', words, limit: 9 })).map(
        ({ id }) => id,
      )
    expect(await search(old, 'goethestrasse')).toEqual([])
    await old.close()

    for (let start = 0; start < 2; start += 1) {
      const database = await openIn(directory.path)
      expect(await search(database, 'goethestrasse')).toEqual(['m1'])
      expect(await search(database, 'مفتاح')).toEqual(['m3'])
      expect(await search(database, 'drawer')).toEqual(['m2'])
      const tags = await database.read.selectFrom('memory_tags').select(['tag', 'number']).execute()
      expect(tags).toEqual([1, 2, 3].map((number) => ({ tag: 'home', number })))
      const vectors = await database.read.selectFrom('memory_vectors').select(['place', 'number', 'part']).execute()
      expect(vectors).toEqual([1, 3].map((number) => ({ place: number, number, part: 0 })))
      expect(await database.checkIntegrity()).toEqual([])
      await database.close()
    }
  })

  test('STORE-3 applied migrations are not applied again', async () => {
    using directory = temporaryDirectory()
    await seeded(directory.path)
    for (let start = 0; start < 3; start += 1) {
      const database = await openIn(directory.path, { migrations: [...allMigrations, addColor] })
      await database.close()
    }
    expect(readdirSync(join(directory.path, 'backups'))).toHaveLength(1)
  })

  test('STORE-3 SEC-20 a database of a newer version is rejected and not changed by a byte', async () => {
    using directory = temporaryDirectory()
    const newer = await openIn(directory.path, { migrations: [...allMigrations, addColor] })
    await newer.close()
    const path = join(directory.path, 'familiar.db')
    const before = readFileSync(path)
    await expect(openIn(directory.path)).rejects.toThrow(/newer version of Familiar \(it contains 9001-color\)/)
    expect(readFileSync(path).equals(before)).toBe(true)
    expect(readdirSync(directory.path)).toEqual(['familiar.db'])
  })

  test.each([
    ['throws after half of its work', 'no further', async () => Promise.reject(new Error('no further'))],
    [
      'leaves rows without their parents',
      'without their parent rows',
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
        await sql`create table users (id text primary key, name text, role text, created_at bigint, tier text)`.execute(
          db,
        )
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

  test('STORE-3 the database of another program is rejected and not changed', async () => {
    using directory = temporaryDirectory()
    const path = join(directory.path, 'familiar.db')
    const raw = new DatabaseSync(path)
    raw.exec('create table bookmarks (url text)')
    raw.close()
    const before = readFileSync(path)
    await expect(openIn(directory.path)).rejects.toThrow(/is not a Familiar database/)
    expect(readFileSync(path).equals(before)).toBe(true)
  })

  test('STORE-3 nothing is migrated if the snapshot cannot be written', async () => {
    using directory = temporaryDirectory()
    await seeded(directory.path)
    writeFileSync(join(directory.path, 'backups'), 'in the way')
    await expect(openIn(directory.path, { migrations: [...allMigrations, addColor] })).rejects.toThrow()
    expect(columnsOf(join(directory.path, 'familiar.db'), 'users')).not.toContain('color')
  })
})
