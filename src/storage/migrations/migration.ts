import type { Kysely } from 'kysely'
import { reasonOf } from '../../base/text.ts'
import { FamiliarError } from '../../protocol/errors.ts'
import type { TextEntry } from '../database.ts'

/** The parts of a migration that the schema builder cannot express because they differ between engines. */
export interface MigrationEngine {
  readonly name: 'sqlite' | 'postgres'
  createTextIndex(db: Kysely<unknown>): Promise<void>
  /** An empty index in the current format; the caller indexes the texts again. */
  replaceTextIndex(db: Kysely<unknown>): Promise<void>
  indexText(db: Kysely<unknown>, entry: TextEntry): Promise<void>
  /** Only texts that are already indexed; they keep their numbers. */
  reindexText(db: Kysely<unknown>, entry: TextEntry): Promise<void>
}

/**
 * A step forward; there is no way back. It uses the schema builder with types that both engines know (`text`,
 * `integer`, `bigint`), never the program's row types, which change while a released migration does not.
 */
export interface Migration {
  readonly name: string
  up(db: Kysely<unknown>, engine: MigrationEngine): Promise<void>
}

interface MigrationTables {
  schema_migrations: { name: string; applied_at: number }
}

/** Listed among the migrations of a database while `familiar migrate` has not finished copying to it. */
export const transferUnderWay = 'transfer-under-way'

/** The pending migrations. Rejects a database that a newer version has migrated. */
export function planMigrations(applied: readonly string[], known: readonly Migration[]): Migration[] {
  const unknown = applied.filter((name) => !known.some((migration) => migration.name === name))
  if (unknown.includes(transferUnderWay)) {
    throw new FamiliarError(
      'conflict',
      'The database is incomplete: `familiar migrate` was interrupted while copying to it. ' +
        'Run the same command again: it continues where it stopped. Nothing was changed.',
    )
  }
  if (unknown.length > 0) {
    throw new FamiliarError(
      'conflict',
      `The database was created by a newer version of Familiar (it contains ${unknown.join(', ')}). ` +
        'Update Familiar, or restore a backup made by this version. Nothing was changed.',
    )
  }
  return known.filter((migration) => !applied.includes(migration.name))
}

/** The names in the order in which they were applied. The table must exist. */
export async function readAppliedMigrations(db: Kysely<unknown>): Promise<string[]> {
  const rows = await migrationTables(db).selectFrom('schema_migrations').select('name').orderBy('name').execute()
  return rows.map((row) => row.name)
}

/** Must be called inside a transaction, which the caller rolls back when this rejects. */
export async function applyMigrations(options: {
  db: Kysely<unknown>
  engine: MigrationEngine
  pending: readonly Migration[]
  now: number
}): Promise<void> {
  const { db, engine, pending, now } = options
  await db.schema
    .createTable('schema_migrations')
    .ifNotExists()
    .addColumn('name', 'text', (column) => column.primaryKey().notNull())
    .addColumn('applied_at', 'bigint', (column) => column.notNull())
    .execute()
  for (const migration of pending) {
    try {
      await migration.up(db, engine)
    } catch (cause) {
      const message = `Migration ${migration.name} failed (${reasonOf(cause)}). Nothing was changed.`
      throw new FamiliarError('internal', message, { cause })
    }
    await migrationTables(db)
      .insertInto('schema_migrations')
      .values({ name: migration.name, applied_at: now })
      .execute()
  }
}

function migrationTables(db: Kysely<unknown>): Kysely<MigrationTables> {
  return db as unknown as Kysely<MigrationTables>
}
