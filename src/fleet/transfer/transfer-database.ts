import { type Insertable, type Kysely, sql } from 'kysely'
import { z } from 'zod'
import { parseJson } from '../../base/json.ts'
import { FamiliarError } from '../../protocol/errors.ts'
import type { Database, Reader, Writer } from '../../storage/database.ts'
import { type Migration, transferUnderWay } from '../../storage/migrations/migration.ts'
import type { MemoryRow } from '../../storage/tables.ts'
import {
  differences,
  type Key,
  planTables,
  progressTable,
  type Row,
  readChecksums,
  readPages,
  type TableChecksum,
  type TablePlan,
  type TransferEnd,
} from './tables.ts'

export type TransferPhase = 'reading' | 'copying' | 'indexing' | 'checking'

export interface TransferReport {
  tables: TableChecksum[]
  counters: Counters
  /** Rows that an earlier run had moved already. */
  movedBefore: number
}

const textIndex = 'the text index'
const startOver = 'Empty the target (delete the file, or drop and create the database) and start again.'

/**
 * Moves every row of `source` to `target`, which was opened with `progressMigration` and is empty or holds an
 * interrupted move. The source is only read and must not change while this runs.
 *
 * After an interruption, call it again to continue; until it has resolved, the target cannot be opened otherwise. It
 * resolves only if the rows on both sides have the same checksums.
 */
export async function transferDatabase(options: {
  source: TransferEnd
  target: Database
  indexMemory: IndexMemory
  onProgress: (phase: TransferPhase, done: number, total: number) => void
  signal: AbortSignal
}): Promise<TransferReport> {
  const { source, target, indexMemory, signal } = options
  const tables = await planTables(source, target)
  const expected = await readChecksums(source, tables, { signal, ...counting(options, 'reading', 0) })
  const counters = await readCounters(source)
  const progress = await takeUp(target, expected)
  const stepOf = (name: string) => progress.get(name) as StepProgress

  const total = expected.reduce((sum, { rows }) => sum + rows, 0)
  const movedBefore = expected.reduce((sum, { name }) => sum + stepOf(name).done, 0)
  const copying = { signal, ...counting(options, 'copying', total, movedBefore) }
  for (const table of tables) {
    const work = (writer: Writer, rows: readonly Row[]) =>
      (writer as unknown as Kysely<Record<string, Row>>)
        .insertInto(table.name)
        .values(rows as Insertable<Row>[])
        .execute()
    await walkTable({ source, target, table, progress: stepOf(table.name), work, ...copying })
  }
  await writeCounters(target, counters)

  const indexed = stepOf(textIndex)
  const indexing = { signal, ...counting(options, 'indexing', indexed.rows, indexed.done) }
  const memories = tables.find(({ name }) => name === 'memories') as TablePlan
  // Rebuilds the full-text index from the moved rows, in the order of the memories.
  const work = async (writer: Writer, rows: readonly Row[]) => {
    for (const row of rows) await indexMemory(target, writer, row as unknown as MemoryRow)
  }
  await walkTable({ source: target, target, table: memories, progress: indexed, work, ...indexing })

  const found = await readChecksums(target, tables, { signal, ...counting(options, 'checking', total) })
  const different = differences(expected, found)
  if (different.length > 0) {
    const where = different.join(', ')
    throw new FamiliarError('internal', `The copied rows differ from the source in ${where}. ${startOver}`)
  }
  // Until PostgreSQL knows how much there is of what, it plans as for empty tables.
  if (target.engine === 'postgres') await target.write((writer) => sql`analyze`.execute(writer))
  await endProgress(target)
  return { tables: found, counters, movedBefore }
}

/** Continues an earlier run, or starts. Refuses if the source has changed since. */
async function takeUp(target: Database, expected: readonly TableChecksum[]): Promise<Map<string, StepProgress>> {
  const left = await readProgress(target.read)
  if (left.size === 0) {
    const memories = expected.find(({ name }) => name === 'memories')?.rows ?? 0
    await beginProgress(target, [...expected, { name: textIndex, rows: memories, checksum: '' }])
    return await readProgress(target.read)
  }
  const changed = differences(expected, [...left.values()])
  if (changed.length > 0) {
    const message = `The source has changed since this move started, in ${changed.join(', ')}. ${startOver}`
    throw new FamiliarError('conflict', message)
  }
  return left
}

function counting(
  { onProgress }: { onProgress: (phase: TransferPhase, done: number, total: number) => void },
  phase: TransferPhase,
  total: number,
  before = 0,
) {
  let done = before
  return {
    onRows(_table: string, rows: number) {
      done += rows
      onProgress(phase, done, total)
    },
  }
}

interface ProgressTables {
  [progressTable]: { name: string; rows: number; checksum: string; done: number; last_key: string | null }
  schema_migrations: { name: string }
}

/** The progress of one step: a table, or the rebuild after all tables. */
interface StepProgress extends TableChecksum {
  done: number
  last: Key | null
}

/**
 * Marks the target as incomplete with a migration: other programs refuse to open a database with a migration that they
 * do not know.
 */
export const progressMigration: Migration = {
  name: transferUnderWay,
  async up(db) {
    await db.schema
      .createTable(progressTable)
      .addColumn('name', 'text', (column) => column.primaryKey().notNull())
      .addColumn('rows', 'bigint', (column) => column.notNull())
      .addColumn('checksum', 'text', (column) => column.notNull())
      .addColumn('done', 'bigint', (column) => column.notNull())
      .addColumn('last_key', 'text')
      .execute()
  },
}

async function readProgress(reader: Reader): Promise<Map<string, StepProgress>> {
  const rows = await tablesOf(reader).selectFrom(progressTable).selectAll().execute()
  return new Map(rows.map(({ last_key, ...row }) => [row.name, { ...row, last: readKey(last_key) }]))
}

/** The plan, written before the first row: a resumed move must find the source unchanged. */
async function beginProgress(database: Database, steps: readonly TableChecksum[]): Promise<void> {
  await database.write(async (writer) => {
    const values = steps.map(({ name, rows, checksum }) => ({ name, rows, checksum, done: 0, last_key: null }))
    await tablesOf(writer).insertInto(progressTable).values(values).execute()
  })
}

/** Call it in the unit that writes the rows. Refuses if another process has continued from the same position. */
async function advance(writer: Writer, step: { name: string; done: number; rows: number; last: Key }): Promise<void> {
  const moved = await tablesOf(writer)
    .updateTable(progressTable)
    .set({ done: step.done + step.rows, last_key: JSON.stringify(step.last) })
    .where('name', '=', step.name)
    .where('done', '=', step.done)
    .executeTakeFirst()
  if (Number(moved.numUpdatedRows) === 1) return
  throw new FamiliarError('conflict', 'Another `familiar migrate` is writing to the same target.')
}

/** From here on the target is a database like any other. */
async function endProgress(database: Database): Promise<void> {
  await database.write(async (writer) => {
    await writer.schema.dropTable(progressTable).execute()
    await tablesOf(writer).deleteFrom('schema_migrations').where('name', '=', transferUnderWay).execute()
  })
}

const keySchema = z.array(z.union([z.string(), z.number()]))

function readKey(json: string | null): Key | null {
  if (json === null) return null
  const key = parseJson(json, keySchema)
  if (!key.ok) throw new FamiliarError('internal', 'The target contains no progress record.')
  return key.value
}

function tablesOf(database: Reader | Writer): Kysely<ProgressTables> {
  return database as unknown as Kysely<ProgressTables>
}

/** Works through a table from where it was left; the work on a page and the note that it is done are one unit. */
async function walkTable(options: {
  source: TransferEnd
  target: Database
  table: TablePlan
  progress: StepProgress
  work(writer: Writer, rows: readonly Row[]): Promise<unknown>
  onRows: (table: string, rows: number) => void
  signal: AbortSignal
}): Promise<void> {
  const { source, target, table, progress, work, onRows, signal } = options
  const { name } = progress
  let { done } = progress
  for await (const { rows, last } of readPages(source, table, progress.last)) {
    signal.throwIfAborted()
    await target.write(async (writer) => {
      await work(writer, rows)
      await advance(writer, { name, done, rows: rows.length, last })
    })
    done += rows.length
    onRows(name, rows.length)
  }
}

/** Columns whose numbers are given by the engine and never twice, not even after their row is gone. */
const counted = { memories: 'number', memory_vectors: 'place' } as const
type Counted = keyof typeof counted

/** The highest number that was ever given, by table. */
type Counters = Record<Counted, number>

async function readCounters(end: TransferEnd): Promise<Counters> {
  return { memories: await readCounter(end, 'memories'), memory_vectors: await readCounter(end, 'memory_vectors') }
}

async function readCounter({ engine, read }: TransferEnd, table: Counted): Promise<number> {
  const sequence = sql.table(`${table}_${counted[table]}_seq`)
  const given =
    engine === 'sqlite'
      ? sql`select seq as last from sqlite_sequence where name = ${table}`
      : // A sequence that was never used stands at its first number without having given it.
        sql`select case when is_called then last_value else last_value - 1 end as last from ${sequence}`
  const found = await given.execute(read)
  const highest = await sql`select max(${sql.ref(counted[table])}) as last from ${sql.table(table)}`.execute(read)
  return Math.max(...[...found.rows, ...highest.rows].map((row) => Number((row as { last: unknown }).last ?? 0)))
}

/** The next row that is added gets a number that no row ever had. */
async function writeCounters(database: Database, counters: Counters): Promise<void> {
  await database.write(async (writer) => {
    for (const [table, last] of Object.entries(counters) as [Counted, number][]) {
      if (database.engine === 'sqlite') {
        await sql`delete from sqlite_sequence where name = ${table}`.execute(writer)
        await sql`insert into sqlite_sequence (name, seq) values (${table}, ${last})`.execute(writer)
      } else if (last > 0) await sql`select setval(${`${table}_${counted[table]}_seq`}, ${last})`.execute(writer)
    }
  })
}

/** Indexes the words of one memory; its row is there already. */
type IndexMemory = (database: Database, writer: Writer, memory: MemoryRow) => Promise<void>
