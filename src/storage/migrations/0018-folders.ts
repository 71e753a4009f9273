import type { Migration } from './migration.ts'

/** Folders of conversations, deleted ones that can still be restored, and how far each is in the index of messages. */
export const folders: Migration = {
  name: '0018-folders',
  async up(db) {
    await db.schema
      .createTable('session_folders')
      .addColumn('id', 'text', (column) => column.primaryKey().notNull())
      .addColumn('user_id', 'text', (column) => column.notNull().references('users.id'))
      .addColumn('name', 'text', (column) => column.notNull())
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .execute()
    await db.schema
      .createIndex('session_folders_by_user')
      .unique()
      .on('session_folders')
      .columns(['user_id', 'name'])
      .execute()
    await db.schema.alterTable('session_views').addColumn('folder_id', 'text').execute()
    await db.schema.alterTable('sessions').addColumn('deleted_at', 'bigint').execute()
    await db.schema.alterTable('sessions').addColumn('deleted_from', 'text').execute()
    await db.schema
      .alterTable('sessions')
      .addColumn('searched_seq', 'bigint', (column) => column.notNull().defaultTo(0))
      .execute()
    await db.schema
      .createIndex('sessions_deleted')
      .on('sessions')
      .column('deleted_at')
      .where('deleted_at', 'is not', null)
      .execute()
  },
}
