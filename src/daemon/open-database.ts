import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/logger.ts'
import type { Database } from '../storage/database.ts'
import type { PostgresDatabase } from '../storage/postgres/open-postgres.ts'
import { openSqlite } from '../storage/sqlite/open-sqlite.ts'
import type { Config } from './config/config.ts'
import type { HomePaths } from './home-paths.ts'

export interface OpenedDatabase {
  database: Database
  /** The same one where it is PostgreSQL: several daemons may share it. */
  postgres: PostgresDatabase | undefined
  uncleanStop: boolean
}

/** The database that the config names: a server's, or the file of this home. */
export async function openDatabase(options: {
  config: Pick<Config, 'database'>
  paths: Pick<HomePaths, 'database' | 'backups'>
  clock: Clock
  logger: Logger
  redact: (text: string) => string
}): Promise<OpenedDatabase> {
  const { config, paths, clock, logger: log, redact } = options
  const { url, poolSize } = config.database
  if (url === null) {
    const database = await openSqlite({ path: paths.database, clock, snapshotDirectory: paths.backups, log, redact })
    return { database, postgres: undefined, uncleanStop: database.recoveredFromUncleanStop }
  }
  // Loaded where it is used: most homes have a file.
  const { openPostgres } = await import('../storage/postgres/open-postgres.ts')
  const postgres = await openPostgres({ url, clock, log, redact, poolSize })
  return { database: postgres, postgres, uncleanStop: false }
}
