import type { Migration } from './migration.ts'

export const textSearch: Migration = {
  name: '0002-text-search',
  up: (db, engine) => engine.createTextIndex(db),
}
