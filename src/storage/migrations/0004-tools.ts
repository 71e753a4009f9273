import type { Kysely } from 'kysely'
import type { Migration } from './migration.ts'

/** Tables for tools: settings, secrets, calls, approvals and background runs. */
export const addToolTables: Migration = {
  name: '0004-tools',
  async up(db) {
    await createStates(db)
    await createSecrets(db)
    await createCalls(db)
    await createApprovals(db)
    await createTriggers(db)
  },
}

async function createStates(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('tool_states')
    .addColumn('name', 'text', (column) => column.primaryKey().notNull())
    .addColumn('is_enabled', 'integer', (column) => column.notNull())
    .addColumn('fingerprint', 'text')
    .addColumn('hosts', 'text', (column) => column.notNull())
    .addColumn('state', 'text')
    .addColumn('updated_at', 'bigint', (column) => column.notNull())
    .execute()
  await db.schema
    .createTable('tool_settings')
    .addColumn('user_id', 'text', (column) => column.notNull().references('users.id'))
    .addColumn('tool', 'text', (column) => column.notNull())
    .addColumn('key', 'text', (column) => column.notNull())
    .addColumn('value', 'text', (column) => column.notNull())
    .addColumn('updated_at', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('tool_settings_key', ['user_id', 'tool', 'key'])
    .execute()
  await db.schema
    .createTable('tool_vectors')
    .addColumn('tool', 'text', (column) => column.notNull())
    .addColumn('model', 'text', (column) => column.notNull())
    .addColumn('text_hash', 'text', (column) => column.notNull())
    .addColumn('vector', 'blob', (column) => column.notNull())
    .addPrimaryKeyConstraint('tool_vectors_key', ['tool', 'model'])
    .execute()
  await db.schema
    .createTable('client_telemetry')
    .addColumn('user_id', 'text', (column) => column.primaryKey().notNull().references('users.id'))
    .addColumn('data', 'text', (column) => column.notNull())
    .addColumn('at', 'bigint', (column) => column.notNull())
    .execute()
}

async function createSecrets(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('secrets')
    .addColumn('user_id', 'text', (column) => column.notNull().references('users.id'))
    .addColumn('owner', 'text', (column) => column.notNull())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('key_id', 'text', (column) => column.notNull())
    .addColumn('sealed', 'text', (column) => column.notNull())
    .addColumn('updated_at', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('secrets_key', ['user_id', 'owner', 'name'])
    .execute()
}

async function createCalls(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('tool_calls')
    .addColumn('id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('user_id', 'text', (column) => column.notNull().references('users.id'))
    .addColumn('tool', 'text', (column) => column.notNull())
    .addColumn('caller', 'text', (column) => column.notNull())
    .addColumn('session_id', 'text')
    .addColumn('turn_id', 'text')
    .addColumn('call_id', 'text')
    .addColumn('topic', 'text', (column) => column.notNull())
    .addColumn('outcome', 'text', (column) => column.notNull())
    .addColumn('at', 'bigint', (column) => column.notNull())
    .addColumn('duration_ms', 'integer', (column) => column.notNull())
    .addColumn('budget_remaining', 'double precision')
    .addColumn('driver', 'text')
    .addColumn('error', 'text')
    .execute()
  await index(db, 'tool_calls', ['user_id', 'tool', 'at'])
  await index(db, 'tool_calls', ['user_id', 'at'])
}

async function createApprovals(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('approvals')
    .addColumn('id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('user_id', 'text', (column) => column.notNull().references('users.id'))
    .addColumn('session_id', 'text', (column) => column.notNull())
    .addColumn('turn_id', 'text', (column) => column.notNull())
    .addColumn('call_id', 'text', (column) => column.notNull())
    .addColumn('tool', 'text', (column) => column.notNull())
    .addColumn('arguments', 'text', (column) => column.notNull())
    .addColumn('destination', 'text')
    .addColumn('reason', 'text', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('seal', 'text', (column) => column.notNull())
    .addColumn('asked_at', 'bigint', (column) => column.notNull())
    .addColumn('expires_at', 'bigint', (column) => column.notNull())
    .addColumn('answered_at', 'bigint')
    .addColumn('answered_from', 'text')
    .execute()
  await index(db, 'approvals', ['session_id', 'state'])
  await index(db, 'approvals', ['user_id', 'state', 'asked_at'])
}

async function createTriggers(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('trigger_runs')
    .addColumn('id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('tool', 'text', (column) => column.notNull())
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('due_at', 'bigint', (column) => column.notNull())
    .addColumn('started_at', 'bigint')
    .addColumn('finished_at', 'bigint')
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('error', 'text')
    .addColumn('input', 'text')
    .execute()
  await index(db, 'trigger_runs', ['tool', 'due_at'])
  await db.schema
    .createTable('webhook_nonces')
    .addColumn('tool', 'text', (column) => column.notNull())
    .addColumn('nonce', 'text', (column) => column.notNull())
    .addColumn('at', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('webhook_nonces_key', ['tool', 'nonce'])
    .execute()
}

async function index(db: Kysely<unknown>, table: string, columns: readonly string[]): Promise<void> {
  await db.schema
    .createIndex(`${table}_by_${columns.join('_')}`)
    .on(table)
    .columns([...columns])
    .execute()
}
