import { sql } from 'kysely'
import { expect } from 'vitest'
import { workChannels } from '../../src/protocol/messages.ts'
import type { Database } from '../../src/storage/database.ts'
import type { Tables } from '../../src/storage/tables.ts'

export interface Column {
  name: string
  type: string
}

/** Messages are indexed for the search a moment after a turn. */
export async function untilSearchable({ read }: Database): Promise<void> {
  const unsearched = () =>
    read
      .selectFrom('sessions')
      .select('id')
      .whereRef('searched_seq', '<', 'last_seq')
      .where('channel', 'not in', workChannels)
      .execute()
  await expect.poll(unsearched).toEqual([])
}

/** The tables of a database as its engine tells of them, whatever the code knows. */
export interface RawTables {
  names(): Promise<string[]>
  columns(table: string): Promise<Column[]>
  /** In the order of the primary key. */
  keyOf(table: string): Promise<string[]>
  references(table: string): Promise<{ column: string; of: string; key: string }[]>
  rows(table: string): Promise<Record<string, unknown>[]>
  insert(table: string, row: Record<string, unknown>): Promise<void>
}

export function openRawTables({ engine, read, write }: Database): RawTables {
  const all = async <Row>(query: string) => (await sql.raw<Row>(query).execute(read)).rows
  const questions = engine === 'postgres' ? askPostgres : askSqlite
  return {
    names: async () => (await all<{ name: string }>(questions.names)).map(({ name }) => name),
    columns: (table) => all<Column>(questions.columns(table)),
    keyOf: async (table) => (await all<{ name: string }>(questions.key(table))).map(({ name }) => name),
    references: (table) => all(questions.references(table)),
    async rows(table) {
      if (engine === 'sqlite') return all(`select * from "${table}"`)
      // As text: some of its numbers are larger than those of JavaScript.
      const rows = await all<{ text: string }>(`select row_to_json(own)::text as text from "${table}" as own`)
      return rows.map(({ text }) => JSON.parse(text))
    },
    async insert(table, row) {
      await write((writer) =>
        writer
          .insertInto(table as keyof Tables)
          .values(row as never)
          .execute(),
      )
    },
  }
}

const askSqlite = {
  names: `select name from sqlite_master where type = 'table'`,
  columns: (table: string) => `select name, type from pragma_table_info('${table}')`,
  key: (table: string) => `select name from pragma_table_info('${table}') where pk > 0 order by pk`,
  references: (table: string) =>
    `select "from" as "column", "table" as "of", "to" as "key" from pragma_foreign_key_list('${table}')`,
}

const askPostgres = {
  names: `select table_name as name from information_schema.tables where table_schema = 'public'`,
  columns: (table: string) =>
    `select column_name as name, data_type as type from information_schema.columns
     where table_schema = 'public' and table_name = '${table}' order by ordinal_position`,
  key: (table: string) =>
    `select attname as name from pg_index
     cross join unnest(indkey) with ordinality as part(number, place)
     join pg_attribute on attrelid = indrelid and attnum = part.number
     where indisprimary and indrelid = 'public."${table}"'::regclass order by place`,
  references: (table: string) =>
    `select own.attname as "column", confrelid::regclass::text as "of", theirs.attname as "key" from pg_constraint
     join pg_attribute own on own.attrelid = conrelid and own.attnum = conkey[1]
     join pg_attribute theirs on theirs.attrelid = confrelid and theirs.attnum = confkey[1]
     where contype = 'f' and conrelid = 'public."${table}"'::regclass`,
}
