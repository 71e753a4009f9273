import { sql } from 'kysely'
import type { Migration } from './migration.ts'

/** Finds the places where a conversation continued on another branch without reading its whole log. */
export const branches: Migration = {
  name: '0017-branches',
  async up(db) {
    await sql`create index session_jumps on session_events (session_id, seq)
      where type in ('rewound', 'branch_chosen')`.execute(db)
  },
}
