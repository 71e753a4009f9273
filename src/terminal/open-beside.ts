import { existsSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { systemClock } from '../base/clock.ts'
import { loadConfig } from '../daemon/config/load-config.ts'
import { homePaths } from '../daemon/home-paths.ts'
import type { Database } from '../storage/database.ts'
import { createKysely, createSqliteConnection, sizeOfFiles } from '../storage/sqlite/connection.ts'
import { copyDatabase, inspectFile, rewriteFile } from '../storage/sqlite/copy-database.ts'
import { createGroupCommit } from '../storage/sqlite/group-commit.ts'
import { createSqliteVectorSearch } from '../storage/sqlite/open-sqlite.ts'
import { createSqliteTextSearch } from '../storage/sqlite/text-search.ts'
import type { Tables } from '../storage/tables.ts'
import { type CommandContext, CommandError } from './command.ts'

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
    checkIntegrity: () => inspectFile(path),
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

/** URL of the database server; null if the database is a file of the home. */
export function databaseUrlOf({ homePath: home, env }: Pick<CommandContext, 'homePath' | 'env'>): string | null {
  const loaded = loadConfig({ home, env })
  // Problems of the configuration are reported by callers that need more of it.
  return loaded.ok ? loaded.config.database.url : env.FAMILIAR_DATABASE_URL || null
}

/** Whether a database exists; a server counts as one. */
export function hasDatabase(context: Pick<CommandContext, 'homePath' | 'env'>): boolean {
  return databaseUrlOf(context) !== null || existsSync(homePaths(context.homePath).database)
}

/** For what is done to a file and not to a server. */
export function requireFile(context: Pick<CommandContext, 'homePath' | 'env'>, hint: string): void {
  if (databaseUrlOf(context) === null) return
  throw new CommandError('The data of this home is on a PostgreSQL server. Use its own backup tools.', {
    code: 'bad_request',
    hint,
  })
}
