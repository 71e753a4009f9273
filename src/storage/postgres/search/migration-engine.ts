import type { MigrationEngine } from '../../migrations/migration.ts'
import { createPostgresTextIndex, indexText, replacePostgresTextIndex } from './text-index.ts'

export const postgresMigrationEngine: MigrationEngine = {
  name: 'postgres',
  createTextIndex: createPostgresTextIndex,
  replaceTextIndex: replacePostgresTextIndex,
  indexText,
}
