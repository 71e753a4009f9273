import { type Kysely, sql } from 'kysely'
import { FamiliarError } from '../../protocol/error.ts'
import type { Database } from '../database.ts'
import { isMadeAnew, movedTables } from './moved-tables.ts'

/** One end of a move, for reading. */
export interface TransferEnd {
  readonly engine: Database['engine']
  // biome-ignore lint/suspicious/noExplicitAny: which table it reads is known only when it runs.
  readonly read: Kysely<any>
}

export interface TablePlan {
  name: string
  /** The columns of its primary key, in their order. */
  key: readonly string[]
  columns: readonly string[]
  /** Those whose values can be of any length. */
  longColumns: readonly string[]
}

/**
 * What is to be moved, in the order in which it is written. Refuses where either end has a table or a column that the other
 * one has not, or that this program does not know how to move: nothing is left behind unnoticed.
 */
export async function planTables(source: TransferEnd, target: TransferEnd): Promise<TablePlan[]> {
  const [here, there] = [await readSchema(source), await readSchema(target)]
  for (const table of new Set([...here.keys(), ...there.keys()])) {
    if (!isMadeAnew(table) && !Object.hasOwn(movedTables, table)) {
      throw new FamiliarError('conflict', `The table ${table} is not one that can be moved. Nothing was moved.`)
    }
  }
  return Object.entries(movedTables).map(([name, key]) => {
    const columns = here.get(name) ?? []
    const found = there.get(name) ?? []
    if (columns.length === 0 || describe(columns) !== describe(found)) {
      throw new FamiliarError('conflict', `The table ${name} is not the same at both ends. Nothing was moved.`)
    }
    const longColumns = columns.filter(({ isLong }) => isLong).map((column) => column.name)
    return { name, key, columns: columns.map((column) => column.name), longColumns }
  })
}

export async function readTableNames(end: TransferEnd): Promise<string[]> {
  return [...(await readSchema(end)).keys()]
}

interface Column {
  name: string
  isLong: boolean
}

interface ColumnRow {
  table: string
  name: string
  type: string
}

async function readSchema({ engine, read }: TransferEnd): Promise<Map<string, Column[]>> {
  const columns = await (engine === 'sqlite' ? columnsOfFile : columnsOfServer).execute(read)
  const schema = new Map<string, Column[]>()
  for (const { table, name, type } of columns.rows) {
    const column = { name, isLong: /text|blob|bytea/i.test(type) }
    schema.set(table, [...(schema.get(table) ?? []), column])
  }
  return schema
}

const columnsOfFile = sql<ColumnRow>`
  select tables.name as "table", columns.name as name, columns.type as type
  from sqlite_schema as tables, pragma_table_info(tables.name) as columns
  where tables.type = 'table' and tables.name not like 'sqlite!_%' escape '!'`

const columnsOfServer = sql<ColumnRow>`
  select tables.table_name::text as "table", columns.column_name::text as name, columns.data_type::text as type
  from information_schema.tables as tables
  join information_schema.columns as columns using (table_schema, table_name)
  where tables.table_schema = current_schema() and tables.table_type = 'BASE TABLE'`

function describe(columns: readonly Column[]): string {
  return columns
    .map(({ name, isLong }) => `${name} ${isLong}`)
    .sort()
    .join()
}
