import { readFileSync } from 'node:fs'
import { sql } from 'kysely'
import type { Database } from '../../src/storage/database.ts'

/** In which of SQLite's files at `path` the bytes of the text are, or in which of PostgreSQL's tables; in capitals or not. */
export async function placesHolding(database: Database, path: string, text: string): Promise<string[]> {
  if (database.engine === 'postgres') return tablesHolding(database, text)
  return ['', '-wal'].filter((suffix) =>
    readFileSync(`${path}${suffix}`).toString('latin1').toLowerCase().includes(text.toLowerCase()),
  )
}

async function tablesHolding({ read }: Database, text: string): Promise<string[]> {
  const tables = await sql<{ name: string }>`
    select tablename as name from pg_tables where schemaname = current_schema()`.execute(read)
  const found: string[] = []
  for (const { name } of tables.rows) {
    const { rows } = await sql`
      select 1 from ${sql.table(name)} as held where strpos(lower(held::text), ${text.toLowerCase()}) > 0 limit 1`.execute(
      read,
    )
    if (rows.length > 0) found.push(name)
  }
  return found
}
