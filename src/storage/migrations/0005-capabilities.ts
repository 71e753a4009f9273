import type { Kysely } from 'kysely'
import type { Migration } from './migration.ts'

/** The tools that Familiar builds itself: their versions, storage and build history. */
export const addCapabilityTables: Migration = {
  name: '0005-capabilities',
  async up(db) {
    await createCatalog(db)
    await createBuilds(db)
  },
}

async function createCatalog(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('capabilities')
    .addColumn('id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('user_id', 'text', (column) => column.notNull().references('users.id'))
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('description', 'text', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('origin', 'text', (column) => column.notNull())
    .addColumn('version', 'integer')
    .addColumn('input_schema', 'text', (column) => column.notNull())
    .addColumn('tags', 'text', (column) => column.notNull())
    .addColumn('permissions', 'text', (column) => column.notNull())
    .addColumn('problem', 'text')
    .addColumn('calls', 'integer', (column) => column.notNull().defaultTo(0))
    .addColumn('failures', 'integer', (column) => column.notNull().defaultTo(0))
    .addColumn('last_called_at', 'bigint')
    .addColumn('last_error', 'text')
    .addColumn('failing_input', 'text')
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('updated_at', 'bigint', (column) => column.notNull())
    .addUniqueConstraint('capabilities_name', ['user_id', 'name'])
    .execute()
  await db.schema
    .createTable('capability_versions')
    .addColumn('capability_id', 'text', (column) => column.notNull().references('capabilities.id'))
    .addColumn('version', 'integer', (column) => column.notNull())
    .addColumn('manifest', 'text', (column) => column.notNull())
    .addColumn('hash', 'text', (column) => column.notNull())
    .addColumn('build_id', 'text')
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('capability_versions_key', ['capability_id', 'version'])
    // A build registers once, however often it is resumed.
    .addUniqueConstraint('capability_versions_build', ['build_id'])
    .execute()
  await db.schema
    .createTable('capability_storage')
    .addColumn('capability_id', 'text', (column) => column.notNull().references('capabilities.id'))
    .addColumn('key', 'text', (column) => column.notNull())
    .addColumn('value', 'text', (column) => column.notNull())
    .addColumn('updated_at', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('capability_storage_key', ['capability_id', 'key'])
    .execute()
  await db.schema
    .createTable('capability_vectors')
    .addColumn('capability_id', 'text', (column) => column.notNull().references('capabilities.id'))
    .addColumn('model', 'text', (column) => column.notNull())
    .addColumn('text_hash', 'text', (column) => column.notNull())
    .addColumn('vector', 'blob', (column) => column.notNull())
    .addPrimaryKeyConstraint('capability_vectors_key', ['capability_id', 'model'])
    .execute()
}

async function createBuilds(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('builds')
    .addColumn('id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('user_id', 'text', (column) => column.notNull().references('users.id'))
    .addColumn('capability_id', 'text', (column) => column.notNull().references('capabilities.id'))
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('request', 'text', (column) => column.notNull())
    .addColumn('session_id', 'text')
    .addColumn('call_id', 'text')
    .addColumn('error', 'text')
    .addColumn('is_told', 'integer', (column) => column.notNull().defaultTo(0))
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('updated_at', 'bigint', (column) => column.notNull())
    .addColumn('ended_at', 'bigint')
    // The call that asks for a build may be repeated after a restart.
    .addUniqueConstraint('builds_call', ['session_id', 'call_id'])
    .execute()
  // Read at startup.
  await db.schema.createIndex('builds_running').on('builds').column('state').where('state', '=', 'running').execute()
  await db.schema.createIndex('builds_by_user_id_state').on('builds').columns(['user_id', 'state']).execute()
  await db.schema
    .createIndex('builds_by_capability_id_created_at')
    .on('builds')
    .columns(['capability_id', 'created_at'])
    .execute()
  await db.schema
    .createTable('build_events')
    .addColumn('build_id', 'text', (column) => column.notNull().references('builds.id'))
    .addColumn('seq', 'integer', (column) => column.notNull())
    .addColumn('type', 'text', (column) => column.notNull())
    .addColumn('data', 'text', (column) => column.notNull())
    .addColumn('at', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('build_events_key', ['build_id', 'seq'])
    .execute()
  await db.schema
    .createTable('build_questions')
    .addColumn('id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('build_id', 'text', (column) => column.notNull().references('builds.id'))
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('question', 'text', (column) => column.notNull())
    .addColumn('secret', 'text')
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('answer', 'text')
    .addColumn('asked_at', 'bigint', (column) => column.notNull())
    .addColumn('expires_at', 'bigint', (column) => column.notNull())
    .execute()
  await db.schema
    .createIndex('build_questions_by_build_id_state')
    .on('build_questions')
    .columns(['build_id', 'state'])
    .execute()
  await db.schema
    .createTable('build_files')
    .addColumn('build_id', 'text', (column) => column.notNull().references('builds.id'))
    .addColumn('path', 'text', (column) => column.notNull())
    .addColumn('content', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('build_files_key', ['build_id', 'path'])
    .execute()
}
