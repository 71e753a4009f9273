import type { Kysely } from 'kysely'
import type { Migration } from './migration.ts'

/** Tables that the user and the agent both work with: blocks, pins, schedules, sub-agents, client tools. */
export const workspace: Migration = {
  name: '0006-workspace',
  async up(db) {
    await createAssets(db)
    await createSchedules(db)
    await createSpawns(db)
    await createClientCalls(db)
    await db.schema
      .alterTable('users')
      .addColumn('tier', 'text', (column) => column.notNull().defaultTo('owner'))
      .execute()
    await db.schema
      .alterTable('sessions')
      .addColumn('agent', 'text', (column) => column.notNull().defaultTo('main'))
      .execute()
    await db.schema.alterTable('sessions').addColumn('model', 'text').execute()
  },
}

async function createAssets(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('blocks')
    .addColumn('user_id', 'text', (column) => column.notNull().references('users.id'))
    .addColumn('label', 'text', (column) => column.notNull())
    .addColumn('content', 'text', (column) => column.notNull())
    .addColumn('tokens', 'integer', (column) => column.notNull())
    .addColumn('version', 'integer', (column) => column.notNull())
    .addColumn('is_deleted', 'integer', (column) => column.notNull().defaultTo(0))
    .addColumn('trust', 'text', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('updated_at', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('blocks_key', ['user_id', 'label'])
    .execute()
  // Earlier versions of files and blocks, by URI, so that a change can be undone.
  await db.schema
    .createTable('asset_versions')
    .addColumn('user_id', 'text', (column) => column.notNull().references('users.id'))
    .addColumn('uri', 'text', (column) => column.notNull())
    .addColumn('version', 'integer', (column) => column.notNull())
    .addColumn('content', 'text')
    .addColumn('tokens', 'integer', (column) => column.notNull())
    .addColumn('author', 'text', (column) => column.notNull())
    .addColumn('trust', 'text', (column) => column.notNull())
    .addColumn('at', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('asset_versions_key', ['user_id', 'uri', 'version'])
    .execute()
  await db.schema
    .createTable('pins')
    .addColumn('user_id', 'text', (column) => column.notNull().references('users.id'))
    .addColumn('agent', 'text', (column) => column.notNull())
    .addColumn('label', 'text', (column) => column.notNull())
    .addColumn('position', 'integer', (column) => column.notNull())
    .addColumn('pinned_at', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('pins_key', ['user_id', 'agent', 'label'])
    .execute()
}

async function createSchedules(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('schedules')
    .addColumn('id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('user_id', 'text', (column) => column.notNull().references('users.id'))
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('expression', 'text', (column) => column.notNull())
    .addColumn('time_zone', 'text', (column) => column.notNull())
    .addColumn('message', 'text', (column) => column.notNull())
    .addColumn('channel', 'text', (column) => column.notNull())
    .addColumn('contact', 'text', (column) => column.notNull())
    .addColumn('catch_up', 'text', (column) => column.notNull())
    .addColumn('author', 'text', (column) => column.notNull())
    .addColumn('trust', 'text', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('next_at', 'bigint')
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('updated_at', 'bigint', (column) => column.notNull())
    .execute()
  await db.schema.createIndex('schedules_by_state_next_at').on('schedules').columns(['state', 'next_at']).execute()
  await db.schema.createIndex('schedules_by_user_id_state').on('schedules').columns(['user_id', 'state']).execute()
  await db.schema
    .createTable('schedule_runs')
    .addColumn('schedule_id', 'text', (column) => column.notNull().references('schedules.id'))
    .addColumn('due_at', 'bigint', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('started_at', 'bigint')
    .addColumn('finished_at', 'bigint')
    .addColumn('message_id', 'text')
    .addColumn('error', 'text')
    // One run per schedule and due time, however often the schedule is checked.
    .addPrimaryKeyConstraint('schedule_runs_key', ['schedule_id', 'due_at'])
    .execute()
  await db.schema
    .createIndex('schedule_runs_by_state_due_at')
    .on('schedule_runs')
    .columns(['state', 'due_at'])
    .execute()
}

async function createSpawns(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('spawns')
    .addColumn('id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('user_id', 'text', (column) => column.notNull().references('users.id'))
    .addColumn('parent_session_id', 'text', (column) => column.notNull())
    .addColumn('parent_turn_id', 'text', (column) => column.notNull())
    .addColumn('call_id', 'text', (column) => column.notNull())
    .addColumn('depth', 'integer', (column) => column.notNull())
    .addColumn('request', 'text', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('result', 'text')
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('ended_at', 'bigint')
    .addUniqueConstraint('spawns_call', ['parent_session_id', 'call_id'])
    .execute()
  // Read at startup.
  await db.schema.createIndex('spawns_open').on('spawns').column('result').where('result', 'is', null).execute()
}

async function createClientCalls(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('client_calls')
    .addColumn('session_id', 'text', (column) => column.notNull())
    .addColumn('call_id', 'text', (column) => column.notNull())
    .addColumn('user_id', 'text', (column) => column.notNull().references('users.id'))
    .addColumn('turn_id', 'text', (column) => column.notNull())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('arguments', 'text', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('result', 'text')
    .addColumn('is_error', 'integer', (column) => column.notNull().defaultTo(0))
    .addColumn('asked_at', 'bigint', (column) => column.notNull())
    .addColumn('expires_at', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('client_calls_key', ['session_id', 'call_id'])
    .execute()
}
