import type { Migration } from './migration.ts'

/** The language in which the user was asked; null: English. */
export const approvalLanguage: Migration = {
  name: '0019-approval-language',
  async up(db) {
    await db.schema.alterTable('approvals').addColumn('language', 'text').execute()
  },
}
