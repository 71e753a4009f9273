import type { Kysely } from 'kysely'
import type { Migration } from './migration.ts'

/** Outgoing and incoming traffic of channels: the outbox, contacts, one-time links. */
export const channels: Migration = {
  name: '0007-channels',
  async up(db) {
    await createOutbox(db)
    await createContacts(db)
  },
}

async function createOutbox(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('outbox')
    .addColumn('id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('user_id', 'text', (column) => column.notNull().references('users.id'))
    .addColumn('channel', 'text', (column) => column.notNull())
    .addColumn('address', 'text', (column) => column.notNull())
    .addColumn('key', 'text', (column) => column.notNull())
    .addColumn('payload', 'text', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('attempts', 'integer', (column) => column.notNull())
    .addColumn('next_at', 'bigint')
    .addColumn('error', 'text')
    .addColumn('external_id', 'text')
    .addColumn('session_id', 'text')
    .addColumn('repeats', 'text')
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('updated_at', 'bigint', (column) => column.notNull())
    .addUniqueConstraint('outbox_key', ['channel', 'key'])
    .execute()
  // Unfinished items in sending order.
  await db.schema
    .createIndex('outbox_open')
    .on('outbox')
    .columns(['channel', 'address', 'created_at', 'id', 'next_at'])
    .where('next_at', 'is not', null)
    .execute()
  await db.schema.createIndex('outbox_by_user_id').on('outbox').columns(['user_id', 'created_at', 'id']).execute()
  await db.schema
    .createTable('delivery_cursors')
    .addColumn('channel', 'text', (column) => column.notNull())
    .addColumn('session_id', 'text', (column) => column.notNull().references('sessions.id'))
    .addColumn('seq', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('delivery_cursors_key', ['channel', 'session_id'])
    .execute()
  await db.schema
    .createTable('channel_marks')
    .addColumn('channel', 'text', (column) => column.notNull())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('value', 'text', (column) => column.notNull())
    .addColumn('updated_at', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('channel_marks_key', ['channel', 'name'])
    .execute()
}

async function createContacts(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('channel_contacts')
    .addColumn('channel', 'text', (column) => column.notNull())
    .addColumn('address', 'text', (column) => column.notNull())
    .addColumn('user_id', 'text', (column) => column.notNull().references('users.id'))
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('paired_at', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('channel_contacts_key', ['channel', 'address'])
    .execute()
  await db.schema
    .createTable('pairing_codes')
    .addColumn('id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('channel', 'text', (column) => column.notNull())
    .addColumn('user_id', 'text', (column) => column.notNull().references('users.id'))
    .addColumn('code_hash', 'text', (column) => column.notNull().unique())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('expires_at', 'bigint', (column) => column.notNull())
    .addColumn('used_at', 'bigint')
    .execute()
  await db.schema
    .createTable('one_time_links')
    .addColumn('id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('user_id', 'text', (column) => column.notNull().references('users.id'))
    .addColumn('token_hash', 'text', (column) => column.notNull().unique())
    .addColumn('purpose', 'text', (column) => column.notNull())
    .addColumn('subject', 'text', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('expires_at', 'bigint', (column) => column.notNull())
    .addColumn('used_at', 'bigint')
    .execute()
}
