import { sql } from 'kysely'
import type { Row, Value } from './row-checksum.ts'
import type { TablePlan, TransferEnd } from './table-plan.ts'

export type Key = readonly Value[]

export interface Page {
  rows: readonly Row[]
  /** Of its last row. */
  last: Key
}

const rowsPerPage = 200
const bytesPerPage = 1024 * 1024
/** What a statement may be given at most: 32,766 in SQLite, 65,535 in PostgreSQL. */
const mostValues = 32_000

/**
 * The rows of a table in the order of its key, from after `after` on. A page is some hundred rows, or less where they are
 * large: memory does not grow with the table, nor with a few long texts in a row.
 */
export async function* readPages(end: TransferEnd, table: TablePlan, after: Key | null = null): AsyncGenerator<Page> {
  const limit = Math.min(rowsPerPage, Math.floor(mostValues / table.columns.length))
  for (let from = after; ; ) {
    const until = await endOfPage(end, { table, from, limit })
    if (!until) return
    const rows = await select(end, { table, from })
      .where(compare(table.key, '<=', until))
      .select(table.columns.map((name) => sql.ref<Value>(name).as(name)))
      .orderBy(inOrderOf(table))
      .execute()
    yield { rows: rows as Row[], last: until }
    from = until
  }
}

/** The key of the last row that still fits. Sizes are looked up first: they are known without reading the values. */
async function endOfPage(
  end: TransferEnd,
  { table, from, limit }: { table: TablePlan; from: Key | null; limit: number },
): Promise<Key | undefined> {
  const lengths = table.longColumns.map((name) => sql`coalesce(octet_length(${sql.ref(name)}), 0)`)
  const sizes = (await select(end, { table, from })
    .select(table.key.map((name) => sql.ref<Value>(name).as(name)))
    .select(sql<number>`${lengths.length > 0 ? sql.join(lengths, sql` + `) : sql.lit(0)}`.as('size_of_row'))
    .orderBy(inOrderOf(table))
    .limit(limit)
    .execute()) as Record<string, Value>[]
  let bytes = 0
  const tooMany = sizes.findIndex((row) => {
    bytes += Number(row.size_of_row)
    return bytes > bytesPerPage
  })
  // A row that is too large for any page is a page of its own.
  const last = sizes.at(tooMany < 0 ? -1 : Math.max(0, tooMany - 1))
  return last && table.key.map((name) => last[name] as Value)
}

function select(end: TransferEnd, { table, from }: { table: TablePlan; from: Key | null }) {
  const query = end.read.selectFrom(table.name)
  return from ? query.where(compare(table.key, '>', from)) : query
}

function inOrderOf({ key }: TablePlan) {
  return sql.join(key.map((name) => sql.ref(name)))
}

function compare(key: readonly string[], operator: '>' | '<=', values: Key) {
  const columns = sql.join(key.map((name) => sql.ref(name)))
  return sql<boolean>`(${columns}) ${sql.raw(operator)} (${sql.join([...values])})`
}
