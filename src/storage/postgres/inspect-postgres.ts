import { sql } from 'kysely'
import type { Reader } from '../database.ts'

/**
 * What can be told from the outside: pages whose checksum failed (where the server keeps checksums), indexes that are not
 * valid, tables that cannot be read to their end, and, where the extension `amcheck` is there, indexes out of order.
 */
export async function inspectPostgres(read: Reader): Promise<string[]> {
  const problems: string[] = []
  const checksums = await sql<{ failures: number | null }>`
    select checksum_failures as failures from pg_stat_database where datname = current_database()`.execute(read)
  const failures = checksums.rows[0]?.failures ?? 0
  if (failures > 0) problems.push(`${failures} pages of the database failed their checksum`)

  const { rows: indexes } = await sql<{ name: string; isValid: number; isTree: number; id: number }>`
    select pg_class.relname::text as name, (indisvalid and indisready)::int as "isValid",
      (pg_am.amname = 'btree')::int as "isTree", indexrelid::int8 as id
    from pg_index join pg_class on pg_class.oid = indexrelid join pg_am on pg_am.oid = pg_class.relam
    where relnamespace = current_schema()::regnamespace order by name`.execute(read)
  for (const { name, isValid } of indexes) if (!isValid) problems.push(`the index ${name} is not valid`)
  const trees = (await hasAmcheck(read)) ? indexes.filter(({ isTree, isValid }) => isTree && isValid) : []
  for (const { name, id } of trees) {
    const checked = sql`select bt_index_check(${id}::oid::regclass)`.execute(read)
    await checked.catch((error: Error) => problems.push(`the index ${name}: ${error.message}`))
  }

  const { rows: tables } = await sql<{ name: string }>`
    select relname::text as name from pg_class
    where relnamespace = current_schema()::regnamespace and relkind = 'r' order by name`.execute(read)
  for (const { name } of tables) {
    const counted = sql`select count(*) from ${sql.table(name)}`.execute(read)
    await counted.catch((error: Error) => problems.push(`the table ${name}: ${error.message}`))
  }
  return problems
}

/** There, and this user may use it: by default only the owner of the server may. */
async function hasAmcheck(read: Reader): Promise<boolean> {
  const { rows } = await sql<{ id: number }>`
    select pg_proc.oid::int8 as id from pg_proc join pg_depend on objid = pg_proc.oid and deptype = 'e'
    join pg_extension on pg_extension.oid = refobjid
    where extname = 'amcheck' and proname = 'bt_index_check' and has_function_privilege(pg_proc.oid, 'execute')`.execute(
    read,
  )
  return rows.length > 0
}
