import { type Kysely, sql } from 'kysely'
import { toIndexKey } from '../database.ts'
import type { Migration } from './migration.ts'

/** Replaces keys that were as long as their text by keys that every engine can index. */
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

// In characters: no shorter text exceeds the byte limit of a key.
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
