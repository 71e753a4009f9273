import { type RawBuilder, sql } from 'kysely'
import type { Database, Writer } from '../../storage/database.ts'
import { type TableRule, userTables } from './user-tables.ts'

const rules: readonly [table: string, rule: TableRule][] = Object.entries(userTables)
const rowsPerPage = 500

/** What is worth keeping of a user's rows, table by table, in pages. What is a secret is not among it. */
export async function* readUserRows(
  { read }: Pick<Database, 'read'>,
  userId: string,
): AsyncGenerator<{ table: string; rows: Record<string, unknown>[] }> {
  for (const [table, rule] of rules) {
    if (rule.rows === 'shared' || rule.exportedBy === null) continue
    for (let from = 0; ; from += rowsPerPage) {
      const order = sql.join(rule.exportedBy.map((column) => sql.ref(column)))
      const page = sql<Record<string, unknown>>`
        select * from ${sql.table(table)} where ${ofUser(rule, userId)}
        order by ${order} limit ${rowsPerPage} offset ${from}`
      const { rows } = await page.execute(read)
      if (rows.length > 0) yield { table, rows }
      if (rows.length < rowsPerPage) break
    }
  }
}

/**
 * Takes every row of a user out of every table and out of the text index, in one unit: all of it is gone or nothing. From
 * then on nothing of theirs can be written, since every row names a user that there is.
 */
export async function deleteUserRows(
  database: Pick<Database, 'textSearch'>,
  writer: Writer,
  userId: string,
): Promise<void> {
  await database.textSearch.removeUser(writer, userId)
  for (const [table, rule] of rules) {
    if (rule.rows === 'shared' || table === 'users') continue
    await sql`delete from ${sql.table(table)} where ${ofUser(rule, userId)}`.execute(writer)
  }
  // The owner goes with the home alone.
  await writer.deleteFrom('users').where('id', '=', userId).where('role', '!=', 'owner').execute()
}

function ofUser(rule: Exclude<TableRule, { rows: 'shared' }>, userId: string): RawBuilder<unknown> {
  if (rule.rows === 'own') return sql`user_id = ${userId}`
  if (rule.of === 'users') return sql`${sql.ref(rule.column)} = ${userId}`
  return sql`${sql.ref(rule.column)} in (select ${sql.ref(rule.key)} from ${sql.table(rule.of)} where user_id = ${userId})`
}
