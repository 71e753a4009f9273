import { type Kysely, sql } from 'kysely'
import { toIndexKey } from '../index-key.ts'
import type { Migration } from './migration.ts'

/** Keys that were as long as the text that they stand for, in the form in which every engine can index them. */
export const indexKeys: Migration = {
  name: '0010-index-keys',
  async up(db) {
    for (const [table, columns] of Object.entries(keys)) for (const column of columns) await shorten(db, table, column)
  },
}

const keys = {
  facts: ['entity_key', 'attribute_key', 'value_key'],
  fact_attributes: ['attribute_key'],
  entity_aliases: ['alias_key', 'entity_key'],
  commitments: ['what_key'],
  tool_weights: ['topic'],
  asset_versions: ['uri'],
}

// In characters: no shorter text has more bytes than a key may have.
const longest = 250

async function shorten(db: Kysely<unknown>, table: string, column: string): Promise<void> {
  const [from, key] = [sql.table(table), sql.ref(column)]
  const { rows } = await sql<{ key: string }>`
    select distinct ${key} as key from ${from} where length(${key}) > ${longest}`.execute(db)
  for (const { key: old } of rows) {
    const short = toIndexKey(old)
    if (short !== old) await sql`update ${from} set ${key} = ${short} where ${key} = ${old}`.execute(db)
  }
}
