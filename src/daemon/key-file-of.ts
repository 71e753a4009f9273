import { join } from 'node:path'
import type { Config } from './config/config.ts'
import type { HomePaths } from './home-paths.ts'

/**
 * Where the key lies that secrets and approvals are sealed with. Daemons that share a database must have the same one: it
 * lies in the directory that they share, or where `FAMILIAR_KEY_FILE` says. A bucket never holds it: whoever keeps the
 * bucket could read it.
 */
export function keyFileOf(
  { keyFile, database, shared }: Pick<Config, 'keyFile' | 'database' | 'shared'>,
  paths: Pick<HomePaths, 'key'>,
): string {
  if (keyFile !== null) return keyFile
  return database.url !== null && shared?.kind === 'directory' ? join(shared.directory, 'key') : paths.key
}
