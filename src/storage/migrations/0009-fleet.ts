import { sql } from 'kysely'
import type { Migration } from './migration.ts'

/** Tables for daemons that share one database. They stay empty with a single daemon. */
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
    // Open items of a session and waiting items of a turn are read for each message.
    await db.schema
      .createIndex('inbox_open_by_session')
      .on('inbox')
      .column('session_id')
      .where(sql.ref('state'), '!=', 'done')
      .execute()
    await db.schema.createIndex('client_calls_by_turn').on('client_calls').column('turn_id').execute()
  },
}
