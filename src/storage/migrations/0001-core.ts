import { type Kysely, sql } from 'kysely'
import type { Migration } from './migration.ts'

export const core: Migration = {
  name: '0001-core',
  async up(db) {
    await createUsers(db)
    await createSessions(db)
    await createInbox(db)
    await createCosts(db)
    await createNotesAndMedia(db)
  },
}

async function createUsers(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('users')
    .addColumn('id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('role', 'text', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .execute()
  await db.schema
    .createTable('access_tokens')
    .addColumn('id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('user_id', 'text', (column) => column.notNull().references('users.id'))
    .addColumn('token_hash', 'text', (column) => column.notNull().unique())
    .addColumn('scope', 'text', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('revoked_at', 'bigint')
    .execute()
}

async function createSessions(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('sessions')
    .addColumn('id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('user_id', 'text', (column) => column.notNull().references('users.id'))
    .addColumn('channel', 'text', (column) => column.notNull())
    .addColumn('contact', 'text', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('last_seq', 'integer', (column) => column.notNull())
    .addColumn('last_input_tokens', 'integer', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('updated_at', 'bigint', (column) => column.notNull())
    .execute()
  await db.schema
    .createIndex('sessions_active')
    .unique()
    .on('sessions')
    .columns(['user_id', 'channel', 'contact'])
    .where(sql.ref('state'), '=', 'active')
    .execute()
  // Not by update time, which would rewrite the index entry at every event.
  await db.schema.createIndex('sessions_by_user').on('sessions').column('user_id').execute()

  await db.schema
    .createTable('session_events')
    .addColumn('session_id', 'text', (column) => column.notNull().references('sessions.id'))
    .addColumn('seq', 'integer', (column) => column.notNull())
    .addColumn('type', 'text', (column) => column.notNull())
    .addColumn('turn_id', 'text')
    .addColumn('at', 'bigint', (column) => column.notNull())
    .addColumn('data', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('session_events_key', ['session_id', 'seq'])
    .execute()
  await db.schema.createIndex('session_events_by_turn').on('session_events').column('turn_id').execute()

  await db.schema
    .createTable('session_snapshots')
    .addColumn('session_id', 'text', (column) => column.primaryKey().notNull().references('sessions.id'))
    .addColumn('seq', 'integer', (column) => column.notNull())
    .addColumn('hash', 'text', (column) => column.notNull())
    .addColumn('data', 'text', (column) => column.notNull())
    .execute()
}

async function createInbox(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('inbox')
    .addColumn('id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('user_id', 'text', (column) => column.notNull().references('users.id'))
    .addColumn('session_id', 'text', (column) => column.notNull().references('sessions.id'))
    .addColumn('key', 'text', (column) => column.notNull())
    .addColumn('body_hash', 'text', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('turn_id', 'text')
    .addColumn('received_at', 'bigint', (column) => column.notNull())
    .addColumn('data', 'text', (column) => column.notNull())
    .addUniqueConstraint('inbox_key', ['user_id', 'key'])
    .execute()
  await db.schema.createIndex('inbox_by_turn').on('inbox').column('turn_id').execute()
  // Unfinished rows, read at every start: a handful however long the history is.
  await db.schema.createIndex('inbox_open').on('inbox').column('state').where('state', '!=', 'done').execute()
}

async function createCosts(db: Kysely<unknown>): Promise<void> {
  // No reference to sessions: costs stay on record when a session is deleted.
  await db.schema
    .createTable('cost_ledger')
    .addColumn('id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('user_id', 'text', (column) => column.notNull().references('users.id'))
    .addColumn('session_id', 'text')
    .addColumn('turn_id', 'text')
    .addColumn('purpose', 'text', (column) => column.notNull())
    .addColumn('model', 'text', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('at', 'bigint', (column) => column.notNull())
    .addColumn('input_tokens', 'bigint', (column) => column.notNull())
    .addColumn('output_tokens', 'bigint', (column) => column.notNull())
    .addColumn('cache_read_tokens', 'bigint', (column) => column.notNull())
    .addColumn('cache_write_tokens', 'bigint', (column) => column.notNull())
    .addColumn('reserved_nanousd', 'bigint', (column) => column.notNull())
    .addColumn('cost_nanousd', 'bigint')
    .execute()
  await db.schema.createIndex('cost_ledger_by_time').on('cost_ledger').columns(['user_id', 'at']).execute()
  await db.schema.createIndex('cost_ledger_by_turn').on('cost_ledger').column('turn_id').execute()
  await db.schema
    .createIndex('cost_ledger_reserved')
    .on('cost_ledger')
    .column('state')
    .where('state', '=', 'reserved')
    .execute()

  await db.schema
    .createTable('cost_totals')
    .addColumn('user_id', 'text', (column) => column.notNull().references('users.id'))
    .addColumn('period', 'text', (column) => column.notNull())
    .addColumn('spent_nanousd', 'bigint', (column) => column.notNull())
    .addColumn('reserved_nanousd', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('cost_totals_key', ['user_id', 'period'])
    .execute()
}

async function createNotesAndMedia(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('notes')
    .addColumn('id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('user_id', 'text', (column) => column.notNull().references('users.id'))
    .addColumn('content', 'text', (column) => column.notNull())
    .addColumn('tags', 'text', (column) => column.notNull())
    .addColumn('source', 'text', (column) => column.notNull())
    .addColumn('session_id', 'text')
    .addColumn('turn_id', 'text')
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .execute()
  await db.schema.createIndex('notes_by_time').on('notes').columns(['user_id', 'created_at']).execute()

  await db.schema
    .createTable('media')
    .addColumn('hash', 'text', (column) => column.primaryKey().notNull())
    .addColumn('media_type', 'text', (column) => column.notNull())
    .addColumn('bytes', 'bigint', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .execute()
}
