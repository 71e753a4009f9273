import type { Migration } from './migration.ts'

/** Files that have no recorded versions, such as PDF files, made by a program that had read untrusted content. */
export const untrustedFiles: Migration = {
  name: '0014-untrusted-files',
  async up(db) {
    await db.schema
      .createTable('untrusted_files')
      .addColumn('user_id', 'text', (column) => column.notNull().references('users.id'))
      .addColumn('hash', 'text', (column) => column.notNull())
      .addColumn('at', 'bigint', (column) => column.notNull())
      .addPrimaryKeyConstraint('untrusted_files_key', ['user_id', 'hash'])
      .execute()
  },
}
