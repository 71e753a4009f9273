import type { Migration } from './migration.ts'

/** State of the page: signed-in browsers, session titles, read positions. */
export const addPageTables: Migration = {
  name: '0008-page',
  async up(db) {
    await db.schema
      .createTable('browsers')
      .addColumn('id', 'text', (column) => column.primaryKey().notNull())
      .addColumn('user_id', 'text', (column) => column.notNull().references('users.id'))
      .addColumn('cookie_hash', 'text', (column) => column.notNull().unique())
      .addColumn('page_hash', 'text', (column) => column.notNull())
      .addColumn('name', 'text', (column) => column.notNull())
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addColumn('seen_at', 'bigint', (column) => column.notNull())
      .addColumn('expires_at', 'bigint', (column) => column.notNull())
      .execute()
    await db.schema
      .createTable('session_views')
      .addColumn('session_id', 'text', (column) => column.primaryKey().notNull().references('sessions.id'))
      .addColumn('title', 'text')
      .addColumn('read_seq', 'bigint', (column) => column.notNull())
      .execute()
  },
}
