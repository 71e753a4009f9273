import type { Kysely } from 'kysely'

/** What a migration cannot say in the schema builder, because every engine says it differently. */
export interface MigrationEngine {
  readonly name: 'sqlite' | 'postgres'
  createTextIndex(db: Kysely<unknown>): Promise<void>
  /** A text that was searched in one collection is searched in another from now on. */
  moveText(
    db: Kysely<unknown>,
    entry: { from: string; to: string; userId: string; id: string; text: string },
  ): Promise<void>
}

/**
 * One step forward; there is none back. Uses the schema builder with types that both engines know (`text`, `integer`,
 * `bigint`), never the program's own row types, which move on while a migration stays as it was released.
 */
export interface Migration {
  readonly name: string
  up(db: Kysely<unknown>, engine: MigrationEngine): Promise<void>
}
