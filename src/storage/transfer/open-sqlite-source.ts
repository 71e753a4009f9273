import { existsSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { FamiliarError } from '../../protocol/error.ts'
import { allMigrations } from '../migrations/all-migrations.ts'
import { planSqliteMigrations } from '../sqlite/migrate-sqlite.ts'
import { createSqliteConnection } from '../sqlite/sqlite-connection.ts'
import { createKysely } from '../sqlite/sqlite-dialect.ts'
import { meansDamage, toStorageError } from '../sqlite/sqlite-error.ts'
import { progressMigration } from './transfer-progress.ts'
import type { TransferSource } from './transfer-source.ts'

/** The file as it is at this moment, whoever writes to it meanwhile. No byte of it is changed. */
export async function openSqliteSource(path: string): Promise<TransferSource> {
  if (!existsSync(path)) throw new FamiliarError('not_found', `There is no database at ${path}.`)
  const raw = new DatabaseSync(path, { readOnly: true, timeout: 5000 })
  try {
    const connection = createSqliteConnection(raw, path)
    const { pending, isEmpty } = await planSqliteMigrations(connection, path, [...allMigrations, progressMigration])
    const read = createKysely<unknown>(connection)
    raw.exec('begin')
    return {
      engine: 'sqlite',
      read,
      pending: pending.filter((migration) => migration !== progressMigration).map(({ name }) => name),
      isEmpty,
      isUnfinished: !pending.includes(progressMigration),
      close: async () => raw.close(),
    }
  } catch (error) {
    raw.close()
    if (meansDamage(error)) throw new FamiliarError('conflict', `${path} is not a sound database.`, { cause: error })
    throw toStorageError(error, path)
  }
}
