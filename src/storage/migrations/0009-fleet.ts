import type { Migration } from './migration.ts'

/** What daemons that share one database need of each other. Where there is one daemon these stay empty. */
export const fleet: Migration = {
  name: '0009-fleet',
  async up(db) {
    await db.schema
      .createTable('daemons')
      .addColumn('id', 'text', (column) => column.primaryKey().notNull())
      .addColumn('role', 'text', (column) => column.notNull())
      .addColumn('lock_key', 'bigint', (column) => column.notNull())
      .addColumn('workers', 'text', (column) => column.notNull())
      .addColumn('started_at', 'bigint', (column) => column.notNull())
      .execute()
    await db.schema
      .createTable('session_holders')
      .addColumn('session_id', 'text', (column) => column.primaryKey().notNull().references('sessions.id'))
      .addColumn('daemon_id', 'text', (column) => column.notNull())
      .execute()
  },
}
