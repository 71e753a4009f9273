import type { Kysely } from 'kysely'
import { z } from 'zod'
import { parseJson } from '../../base/json.ts'
import { FamiliarError } from '../../protocol/error.ts'
import type { Database, Reader, Writer } from '../database.ts'
import type { Migration } from '../migrations/migration.ts'
import { transferUnderWay } from '../migrations/run-migrations.ts'
import { progressTable } from './moved-tables.ts'
import type { Key } from './read-pages.ts'
import type { TableChecksum } from './table-checksums.ts'

interface ProgressTables {
  [progressTable]: { name: string; rows: number; checksum: string; done: number; last_key: string | null }
  schema_migrations: { name: string }
}

/** How far one step has come: a table, or what is made anew after all tables. */
export interface StepProgress extends TableChecksum {
  done: number
  last: Key | null
}

/**
 * The target says of itself that it is not whole, in the words of a migration: whoever opens it meanwhile to work with it
 * finds one that he does not know, and leaves it alone.
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

export async function readProgress(reader: Reader): Promise<Map<string, StepProgress>> {
  const rows = await tablesOf(reader).selectFrom(progressTable).selectAll().execute()
  return new Map(rows.map(({ last_key, ...row }) => [row.name, { ...row, last: readKey(last_key) }]))
}

/** What is to be moved, written down before the first row is: a move that goes on must find the source as it was. */
export async function beginProgress(database: Database, steps: readonly TableChecksum[]): Promise<void> {
  await database.write(async (writer) => {
    const values = steps.map(({ name, rows, checksum }) => ({ name, rows, checksum, done: 0, last_key: null }))
    await tablesOf(writer).insertInto(progressTable).values(values).execute()
  })
}

/** To be called in the unit that writes the rows. Refuses where somebody else has gone on from the same place. */
export async function advance(
  writer: Writer,
  step: { name: string; done: number; rows: number; last: Key },
): Promise<void> {
  const moved = await tablesOf(writer)
    .updateTable(progressTable)
    .set({ done: step.done + step.rows, last_key: JSON.stringify(step.last) })
    .where('name', '=', step.name)
    .where('done', '=', step.done)
    .executeTakeFirst()
  if (Number(moved.numUpdatedRows) === 1) return
  throw new FamiliarError('conflict', 'Another `familiar migrate` writes to the same target.')
}

/** From here on the target is a database like any other. */
export async function endProgress(database: Database): Promise<void> {
  await database.write(async (writer) => {
    await writer.schema.dropTable(progressTable).execute()
    await tablesOf(writer).deleteFrom('schema_migrations').where('name', '=', transferUnderWay).execute()
  })
}

const keySchema = z.array(z.union([z.string(), z.number()]))

function readKey(json: string | null): Key | null {
  if (json === null) return null
  const key = parseJson(json, keySchema)
  if (!key.ok) throw new FamiliarError('internal', 'The target does not say how far it is.')
  return key.value
}

function tablesOf(database: Reader | Writer): Kysely<ProgressTables> {
  return database as unknown as Kysely<ProgressTables>
}
