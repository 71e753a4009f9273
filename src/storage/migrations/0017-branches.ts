import { sql } from 'kysely'
import type { Migration } from './migration.ts'

/** Jumps between branches are found without reading the whole log; private, pinned and titled conversations. */
export const branches: Migration = {
  name: '0017-branches',
  async up(db) {
    await sql`create index session_jumps on session_events (session_id, seq)
      where type in ('rewound', 'branch_chosen')`.execute(db)
    await db.schema
      .alterTable('sessions')
      .addColumn('remembered', 'integer', (column) => column.notNull().defaultTo(1))
      .execute()
    await db.schema
      .alterTable('session_views')
      .addColumn('pinned', 'integer', (column) => column.notNull().defaultTo(0))
      .execute()
    await db.schema.alterTable('session_views').addColumn('generated_title', 'text').execute()
  },
}
