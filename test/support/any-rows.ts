import fc from 'fast-check'
import { type Kysely, sql } from 'kysely'
import { type CellValue, movedTables, type Row } from '../../src/fleet/transfer/tables.ts'
import type { Database } from '../../src/storage/database.ts'
import { anyText } from './any-text.ts'

interface ColumnShape {
  name: string
  type: 'text' | 'number' | 'real' | 'bytes'
  isNullable: boolean
  /** In a key or an index that allows a value once. */
  isUnique: boolean
  /** PostgreSQL refuses long values in an index. */
  isIndexed: boolean
  parent: { table: string; column: string } | undefined
}

export interface TableShape {
  name: string
  columns: ColumnShape[]
}

/** Every table that is moved, as SQLite has made it from the migrations. */
export async function readTableShapes(database: Database): Promise<TableShape[]> {
  return await Promise.all(Object.keys(movedTables).map((name) => readTableShape(database, name)))
}

async function readTableShape({ read }: Database, name: string): Promise<TableShape> {
  const columns = await sql<{ name: string; type: string; notnull: number; pk: number }>`
    select name, lower(type) as type, "notnull", pk from pragma_table_info(${name})`.execute(read)
  const parents = await sql<{ from: string; table: string; to: string }>`
    select "from", "table", "to" from pragma_foreign_key_list(${name})`.execute(read)
  const indexed = await sql<{ name: string; unique: number }>`
    select columns.name, indexes."unique" from pragma_index_list(${name}) as indexes,
      pragma_index_info(indexes.name) as columns`.execute(read)
  return {
    name,
    columns: columns.rows.map((column) => {
      const uses = indexed.rows.filter((index) => index.name === column.name)
      const parent = parents.rows.find(({ from }) => from === column.name)
      return {
        name: column.name,
        type: typeOf(column.type),
        isNullable: column.notnull === 0 && column.pk === 0,
        isUnique: column.pk > 0 || uses.some(({ unique }) => unique === 1),
        isIndexed: uses.length > 0,
        parent: parent && { table: parent.table, column: parent.to },
      }
    }),
  }
}

function typeOf(type: string): ColumnShape['type'] {
  if (type === 'text') return 'text'
  if (type === 'blob') return 'bytes'
  return type === 'double precision' ? 'real' : 'number'
}

/** Rows for every table, `count` of each: whatever their columns can hold, and parents for those that need one. */
export function anyRows(tables: readonly TableShape[], count: number): fc.Arbitrary<Map<string, Row[]>> {
  const values = tables.flatMap((table) =>
    table.columns.flatMap((column) => Array.from({ length: count }, () => anyValue(column))),
  )
  return fc.tuple(...values).map((drawn) => arrange(tables, count, drawn))
}

function arrange(tables: readonly TableShape[], count: number, drawn: readonly CellValue[]): Map<string, Row[]> {
  const rows = new Map<string, Row[]>()
  let at = 0
  for (const { name, columns } of tables) {
    const made: Record<string, CellValue>[] = Array.from({ length: count }, () => ({}))
    for (const column of columns) {
      for (const [index, row] of made.entries()) {
        const value = drawn[at] ?? null
        at += 1
        const { parent } = column
        row[column.name] = parent
          ? (rows.get(parent.table)?.[index]?.[parent.column] ?? null)
          : column.isUnique
            ? distinct(column, index, value)
            : value
      }
    }
    rows.set(name, made)
  }
  return rows
}

function distinct({ type }: ColumnShape, index: number, value: CellValue): CellValue {
  return type === 'text' ? `${index}${value ?? ''}` : index + 1
}

const extremes = {
  text: ['', '\0', '\u0001\0\u0002', '👩‍👩‍👧‍👦', '\ud800', "'; --", '\\x00'],
  number: [0, 1, -1, 2 ** 53 - 1],
}
const hugeText = fc.nat({ max: 200_000 }).map((length) => `\0 word 👍 ${'x'.repeat(length)}`)

function anyValue({ type, isNullable, isUnique, isIndexed }: ColumnShape): fc.Arbitrary<CellValue> {
  const value = {
    text: fc.oneof(
      { weight: 5, arbitrary: anyText },
      { weight: 3, arbitrary: fc.constantFrom(...extremes.text) },
      { weight: isIndexed ? 0 : 1, arbitrary: hugeText },
    ),
    number: fc.oneof(fc.maxSafeInteger(), fc.constantFrom(...extremes.number)),
    real: fc.oneof(fc.double({ noNaN: true }), fc.constantFrom(-0, 1e308, 5e-324, 0.1 + 0.2)),
    bytes: fc.uint8Array({ maxLength: 2000 }),
  }[type]
  return isNullable && !isUnique ? fc.option<CellValue>(value, { nil: null }) : value
}

export async function insertRows(database: Database, rows: ReadonlyMap<string, Row[]>): Promise<void> {
  await database.write(async (writer) => {
    for (const [table, values] of rows) {
      await (writer as unknown as Kysely<Record<string, Row>>).insertInto(table).values(values).execute()
    }
  })
}
