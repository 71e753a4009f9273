import { sql } from 'kysely'
import type { Database, Writer } from '../database.ts'
import type { TransferEnd } from './table-plan.ts'

/** Columns whose numbers are given by the engine and never twice, not even after their row is gone. */
const counted = { memories: 'number', memory_vectors: 'place' } as const
type Counted = keyof typeof counted

/** The highest number that was ever given, by table. */
export type Counters = Record<Counted, number>

export async function readCounters(end: TransferEnd): Promise<Counters> {
  return { memories: await readCounter(end, 'memories'), memory_vectors: await readCounter(end, 'memory_vectors') }
}

async function readCounter({ engine, read }: TransferEnd, table: Counted): Promise<number> {
  const given = engine === 'sqlite' ? sql`select seq as last from sqlite_sequence where name = ${table}` : lastOf(table)
  const found = await given.execute(read)
  const highest = await sql`select max(${sql.ref(counted[table])}) as last from ${sql.table(table)}`.execute(read)
  return Math.max(...[...found.rows, ...highest.rows].map((row) => Number((row as { last: unknown }).last ?? 0)))
}

/** A sequence that was never used stands at its first number without having given it. */
function lastOf(table: Counted) {
  const name = `${table}_${counted[table]}_seq`
  return sql`select case when is_called then last_value else last_value - 1 end as last from ${sql.table(name)}`
}

/** The next row that is added gets a number that no row ever had. */
export async function writeCounters(database: Database, counters: Counters): Promise<void> {
  await database.write(async (writer) => {
    for (const [table, last] of Object.entries(counters) as [Counted, number][]) {
      if (database.engine === 'sqlite') await writeSqliteCounter(writer, table, last)
      else if (last > 0) await sql`select setval(${`${table}_${counted[table]}_seq`}, ${last})`.execute(writer)
    }
  })
}

async function writeSqliteCounter(writer: Writer, table: Counted, last: number): Promise<void> {
  await sql`delete from sqlite_sequence where name = ${table}`.execute(writer)
  await sql`insert into sqlite_sequence (name, seq) values (${table}, ${last})`.execute(writer)
}
