import { existsSync } from 'node:fs'
import { loadConfig } from '../daemon/config/load-config.ts'
import { homePaths } from '../daemon/home-paths.ts'
import type { CommandContext } from './command.ts'
import { CommandError } from './command-error.ts'

/** Of the server that the home's data are on; null where they are in its own file. */
export function databaseUrlOf({ homePath: home, env }: Pick<CommandContext, 'homePath' | 'env'>): string | null {
  const loaded = loadConfig({ home, env })
  // What is wrong with the config is told by whoever needs more of it.
  return loaded.ok ? loaded.config.database.url : env.FAMILIAR_DATABASE_URL || null
}

/** Whether anything was ever kept; a server is taken to hold something. */
export function hasDatabase(context: Pick<CommandContext, 'homePath' | 'env'>): boolean {
  return databaseUrlOf(context) !== null || existsSync(homePaths(context.homePath).database)
}

/** For what is done to a file and not to a server. */
export function requireFile(context: Pick<CommandContext, 'homePath' | 'env'>, hint: string): void {
  if (databaseUrlOf(context) === null) return
  throw new CommandError('The data of this home are on a PostgreSQL server, which makes its own backups.', {
    code: 'bad_request',
    hint,
  })
}
