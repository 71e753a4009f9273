import { DatabaseSync } from 'node:sqlite'
import { systemClock } from '../base/clock.ts'
import { homePaths } from '../daemon/home-paths.ts'
import type { Database } from '../storage/database.ts'
import { copyDatabase } from '../storage/sqlite/copy-database.ts'
import { createGroupCommit } from '../storage/sqlite/group-commit.ts'
import { inspectFile } from '../storage/sqlite/inspect-file.ts'
import { rewriteFile } from '../storage/sqlite/rewrite-file.ts'
import { createSqliteConnection } from '../storage/sqlite/sqlite-connection.ts'
import { createKysely } from '../storage/sqlite/sqlite-dialect.ts'
import { sizeOfFiles } from '../storage/sqlite/sqlite-files.ts'
import { createSqliteTextSearch } from '../storage/sqlite/text-search.ts'
import { createSqliteVectorSearch } from '../storage/sqlite/vector-search.ts'
import type { Tables } from '../storage/tables.ts'
import type { CommandContext } from './command.ts'
import { databaseUrlOf } from './database-url.ts'

/**
 * A second way into a database that a daemon may have open, for a row or two. A file is neither migrated nor marked as
 * stopped, which is the daemon's to do; a server is used as one more daemon would use it.
 */
export async function openBeside(context: Pick<CommandContext, 'homePath' | 'env'>): Promise<Database> {
  const url = databaseUrlOf(context)
  if (url === null) return openFileBeside(homePaths(context.homePath).database)
  const { openPostgres } = await import('../storage/postgres/open-postgres.ts')
  return openPostgres({ url, clock: systemClock(), poolSize: 4 })
}

function openFileBeside(path: string): Database {
  const raw = new DatabaseSync(path, { timeout: 5_000 })
  raw.exec(
    'pragma synchronous = full; pragma foreign_keys = on; pragma secure_delete = on; pragma trusted_schema = off',
  )
  const connection = createSqliteConnection(raw, path)
  const read = createKysely<Tables>(connection)
  const { write, alone, close } = createGroupCommit({ connection })
  const textSearch = createSqliteTextSearch({ read, write })
  const vectorSearch = createSqliteVectorSearch({ path, clock: systemClock() })
  return {
    engine: 'sqlite',
    read,
    textSearch,
    vectorSearch,
    write,
    backup: (targetPath, onProgress) => copyDatabase({ databasePath: path, targetPath, onProgress }),
    sizeInBytes: () => sizeOfFiles(path),
    checkIntegrity: () => inspectFile(path, 'full'),
    async scrub(signal) {
      await textSearch.scrub(signal)
      await alone(() => rewriteFile(path))
    },
    async close() {
      await close()
      await vectorSearch.close()
      raw.close()
    },
  }
}
