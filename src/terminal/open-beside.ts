import { existsSync } from 'node:fs'
import { systemClock } from '../base/clock.ts'
import type { StoredKeys } from '../daemon/config/environment.ts'
import { loadConfig } from '../daemon/config/load-config.ts'
import { configSecrets } from '../daemon/connect-model.ts'
import { homePaths, keyFileOf } from '../daemon/home-paths.ts'
import { createVault } from '../security/vault.ts'
import type { Database } from '../storage/database.ts'
import { openSqliteBeside } from '../storage/sqlite/open-sqlite.ts'
import { type CommandContext, CommandError } from './command.ts'

/**
 * A second way into a database that a daemon may have open, for a row or two. A file is neither migrated nor marked as
 * stopped, which is the daemon's to do; a server is used as one more daemon would use it.
 */
export async function openBeside(context: Pick<CommandContext, 'homePath' | 'env'>): Promise<Database> {
  const url = databaseUrlOf(context)
  if (url === null) return openSqliteBeside(homePaths(context.homePath).database, systemClock())
  const { openPostgres } = await import('../storage/postgres/open-postgres.ts')
  return openPostgres({ url, clock: systemClock(), poolSize: 4 })
}

/** Opens it for some work. */
export async function withDatabase<T>(
  context: Pick<CommandContext, 'homePath' | 'env'>,
  work: (database: Database) => Promise<T>,
): Promise<T> {
  const database = await openBeside(context)
  try {
    return await work(database)
  } finally {
    await database.close()
  }
}

/** The keys that were given in the page. None if they cannot be read: the daemon reports why. */
export async function storedKeys(context: Pick<CommandContext, 'homePath' | 'env'>): Promise<StoredKeys> {
  const loaded = loadConfig({ home: context.homePath, env: context.env })
  if (!loaded.ok || !hasDatabase(context)) return {}
  const keyFile = keyFileOf(loaded.config, homePaths(context.homePath))
  const read = async (database: Database) => {
    const owner = await database.read.selectFrom('users').select('id').where('role', '=', 'owner').executeTakeFirst()
    const vault = createVault({ database, keyFile, clock: systemClock(), redactor: { add: () => true } })
    return owner ? vault.values(owner.id, configSecrets) : {}
  }
  return withDatabase(context, read).catch(() => ({}))
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
