import type { Kysely } from 'kysely'
import { FamiliarError } from '../../protocol/error.ts'
import type { Migration, MigrationEngine } from './migration.ts'

interface MigrationTables {
  schema_migrations: { name: string; applied_at: number }
}

/** Stands among the migrations of a database to which `familiar migrate` has not moved everything yet. */
export const transferUnderWay = 'transfer-under-way'

/** What is still to be applied. Refuses a database that a newer program has already moved on. */
export function planMigrations(applied: readonly string[], known: readonly Migration[]): Migration[] {
  const unknown = applied.filter((name) => !known.some((migration) => migration.name === name))
  if (unknown.includes(transferUnderWay)) {
    throw new FamiliarError(
      'conflict',
      'The database is not whole: `familiar migrate` was interrupted while it moved one there. ' +
        'Run the same command again: it goes on where it was. Nothing was changed.',
    )
  }
  if (unknown.length > 0) {
    throw new FamiliarError(
      'conflict',
      `The database was made by a newer version of Familiar (it holds ${unknown.join(', ')}). ` +
        'Update Familiar, or restore a backup made by this version. Nothing was changed.',
    )
  }
  return known.filter((migration) => !applied.includes(migration.name))
}

/** The names in the order of their application. The table must exist. */
export async function readAppliedMigrations(db: Kysely<unknown>): Promise<string[]> {
  const rows = await migrationTables(db).selectFrom('schema_migrations').select('name').orderBy('name').execute()
  return rows.map((row) => row.name)
}

/** To be called inside a transaction, which the caller rolls back when this rejects. */
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
      const reason = cause instanceof Error ? cause.message : String(cause)
      throw new FamiliarError('internal', `Migration ${migration.name} failed (${reason}). Nothing was changed.`, {
        cause,
      })
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
