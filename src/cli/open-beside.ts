import { DatabaseSync } from 'node:sqlite'
import { systemClock } from '../base/clock.ts'
import type { Database } from '../storage/database.ts'
import { copyDatabase } from '../storage/sqlite/copy-database.ts'
import { createGroupCommit } from '../storage/sqlite/group-commit.ts'
import { inspectFile } from '../storage/sqlite/inspect-file.ts'
import { rewriteFile } from '../storage/sqlite/rewrite-file.ts'
import { createSqliteConnection } from '../storage/sqlite/sqlite-connection.ts'
import { createKysely } from '../storage/sqlite/sqlite-dialect.ts'
import { createSqliteTextSearch } from '../storage/sqlite/text-search.ts'
import { createSqliteVectorSearch } from '../storage/sqlite/vector-search.ts'
import type { Tables } from '../storage/tables.ts'

/**
 * A second way into a database that a daemon may have open, for a row or two. Unlike `openSqlite` it neither migrates
 * nor touches the marker of a clean stop, which is the daemon's.
 */
export function openBeside(path: string): Database {
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
