import type { Migration } from './migration.ts'

/** Standing permissions, and what a question needs to become one. */
export const permissions: Migration = {
  name: '0012-permissions',
  async up(db) {
    await db.schema
      .createTable('grants')
      .addColumn('id', 'text', (column) => column.primaryKey().notNull())
      .addColumn('user_id', 'text', (column) => column.notNull().references('users.id'))
      .addColumn('subject', 'text', (column) => column.notNull())
      .addColumn('effect', 'text', (column) => column.notNull())
      .addColumn('destination', 'text', (column) => column.notNull())
      .addColumn('session_id', 'text')
      .addColumn('given_at', 'bigint', (column) => column.notNull())
      .addColumn('given_from', 'text', (column) => column.notNull())
      .addColumn('expires_at', 'bigint')
      .addColumn('seal', 'text', (column) => column.notNull())
      .execute()
    await db.schema
      .createIndex('grants_by_subject')
      .on('grants')
      .columns(['user_id', 'subject', 'destination'])
      .execute()
    await db.schema.alterTable('sessions').addColumn('mode', 'text').execute()
    await db.schema.alterTable('approvals').addColumn('effect', 'text').execute()
    await db.schema.alterTable('approvals').addColumn('grants', 'text').execute()
  },
}
