import type { Kysely } from 'kysely'

/** What a migration cannot say in the schema builder, because every engine says it differently. */
export interface MigrationEngine {
  readonly name: 'sqlite' | 'postgres'
  createTextIndex(db: Kysely<unknown>): Promise<void>
  /** An empty index in the form of today: whoever had texts in it indexes them anew. */
  replaceTextIndex(db: Kysely<unknown>): Promise<void>
  indexText(db: Kysely<unknown>, entry: { collection: string; userId: string; id: string; text: string }): Promise<void>
}

/**
 * One step forward; there is none back. Uses the schema builder with types that both engines know (`text`, `integer`,
 * `bigint`), never the program's own row types, which move on while a migration stays as it was released.
 */
export interface Migration {
  readonly name: string
  up(db: Kysely<unknown>, engine: MigrationEngine): Promise<void>
}
