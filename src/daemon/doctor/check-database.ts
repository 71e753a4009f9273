import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/logger.ts'
import { formatBytes, formatTime, plural, reasonOf } from '../../base/text.ts'
import { createVaultKey, readKeyFile } from '../../security/vault.ts'
import { allMigrations } from '../../storage/migrations/all-migrations.ts'
import {
  createSqliteConnection,
  findMissingLog,
  missingLogNote,
  newestBackup,
  readMissingLog,
  stoppedUncleanly,
} from '../../storage/sqlite/connection.ts'
import { inspectFile, planSqliteMigrations } from '../../storage/sqlite/copy-database.ts'
import { openSqlite } from '../../storage/sqlite/open-sqlite.ts'
import { readNeedLogin } from '../../tools/mcp/tool-listing.ts'
import type { Config } from '../config/config.ts'
import { type HomePaths, homePaths } from '../home-paths.ts'
import { type Finding, fail, ok, shellQuoted, tablesOf, warn } from './checks.ts'

export interface DatabaseCheck {
  findings: Finding[]
  /** The latest time in the database. */
  newestEvent?: number | undefined
  /** MCP servers that required a login when they were last used. */
  needLogin?: string[]
}

/** Reads the whole file, in a worker thread; a running daemon is not disturbed. */
export async function checkDatabase(homePath: string, options: { isInUse: boolean }): Promise<DatabaseCheck> {
  const { database: path, backups, key, media: mediaDirectory } = homePaths(homePath)
  if (!existsSync(path)) return { findings: [ok('database', 'Does not exist yet; the first start creates it.')] }
  const backup = newestBackup(backups)
  const mend = backup ? `familiar restore ${shellQuoted(backup)}` : undefined
  // Before anything opens the database, which would create an empty log.
  const log = checkLog(path, options.isInUse)
  try {
    const problems = await inspectFile(path)
    if (problems.length > 0) return { findings: [fail('database', `${path} is damaged: ${problems[0]}`, mend)] }
    const { pending, newestEvent, keyIds, media, needLogin } = await look(path)
    const findings = [
      describeVersion(path, pending),
      ...(await checkHomeKey(key, keyIds)),
      ...checkMedia(mediaDirectory, media),
      ...log,
    ]
    if (!options.isInUse && log.length === 0 && stoppedUncleanly(path)) {
      const message =
        'The last shutdown was not clean. The database is intact; interrupted turns continue at the next start.'
      findings.push(warn('database', message, 'familiar serve'))
    }
    return { findings, needLogin, newestEvent }
  } catch (error) {
    return { findings: [fail('database', reasonOf(error), mend)] }
  }
}

/** Whether the log of a killed daemon was deleted, found now or by an earlier start. */
function checkLog(path: string, isInUse: boolean): Finding[] {
  const found = isInUse ? undefined : findMissingLog(path)
  if (found) return [warn('database', describeMissingLog(path, found.since), 'familiar serve')]
  const kept = readMissingLog(path)
  if (!kept) return []
  const when = `Found by the start of ${formatTime(kept.at)}.`
  const message = `${describeMissingLog(path, kept.since)} ${when} To dismiss this notice, delete its file.`
  return [warn('database', message, `rm ${shellQuoted(missingLogNote(path))}`)]
}

export function describeMissingLog(path: string, since: number): string {
  const what = `Familiar was killed, and its log ${path}-wal was deleted before the next start.`
  return `${what} Changes made after ${formatTime(since)} may be missing.`
}

/** Whether the key exists, is private, and is the one that the secrets were sealed with. */
async function checkHomeKey(keyFile: string, keyIds: readonly unknown[]): Promise<Finding[]> {
  const check = 'key for secrets'
  try {
    const key = await readKeyFile(keyFile)
    const id = key && createVaultKey(key).id
    const lost = keyIds.filter((each) => each !== id).length
    if (lost === 0) return []
    const problem = key ? `was encrypted with a key other than ${keyFile}` : `cannot be read: ${keyFile} is missing`
    return [fail(check, `${plural(lost, 'secret')} ${problem}. Restore the key from a backup, or set them again.`)]
  } catch (error) {
    return [fail(check, reasonOf(error), `chmod 600 ${shellQuoted(keyFile)}`)]
  }
}

/** Files that conversations refer to by hash. They are restored manually: there is no other copy. */
function checkMedia(directory: string, hashes: readonly string[]): Finding[] {
  const missing = hashes.filter((hash) => !existsSync(join(directory, hash))).length
  if (missing === 0) return []
  return [warn('media', `${plural(missing, 'attached file')} missing in ${directory}. Restore them from a backup.`)]
}

function describeVersion(path: string, pending: readonly { name: string }[]): Finding {
  const size = formatBytes(statSync(path).size)
  if (pending.length === 0) return ok('database', `OK, ${size}, version ${allMigrations.at(-1)?.name}`)
  const waiting = plural(pending.length, 'change')
  return ok('database', `OK, ${size}; the next start applies ${waiting}, after a copy of the current state.`)
}

async function look(path: string) {
  using raw = new DatabaseSync(path, { readOnly: true, timeout: 5_000 })
  const { pending, isEmpty } = await planSqliteMigrations(createSqliteConnection(raw, path), path, allMigrations)
  if (isEmpty) return { pending, newestEvent: undefined, keyIds: [], media: [], needLogin: [] }
  // An older version may not have the table yet.
  const tables = tablesOf(raw)
  const rowsOf = (table: string) => (tables.has(table) ? raw.prepare(`select * from ${table}`).all() : [])
  const newest = raw.prepare('select max(at) as at from session_events').get()?.at
  const keyIds = rowsOf('secrets').map((row) => row.key_id)
  const media = rowsOf('media').map((row) => String(row.hash))
  const states = rowsOf('tool_states')
  const needLogin = readNeedLogin(states.map(({ name, state }) => ({ name: String(name), state: String(state) })))
  return { pending, newestEvent: typeof newest === 'number' ? newest : undefined, keyIds, media, needLogin }
}

/**
 * The configured database: a server's, which several daemons may share, or the file of this home. If the write-ahead log
 * of the previous daemon was missing, changes after `missingSince` may be lost.
 */
export async function openDatabase(options: {
  config: Pick<Config, 'database'>
  paths: Pick<HomePaths, 'database' | 'backups'>
  clock: Clock
  logger: Logger
  redact: (text: string) => string
}) {
  const { config, paths, clock, logger: log, redact } = options
  const { url, poolSize } = config.database
  if (url === null) {
    const database = await openSqlite({ path: paths.database, clock, snapshotDirectory: paths.backups, log, redact })
    const missingSince = database.missingLog?.since ?? null
    if (missingSince !== null) {
      const since = new Date(missingSince).toISOString()
      log.warn('the write-ahead log was deleted after a crash; the changes in it are lost', { since })
    }
    return { database, postgres: undefined, uncleanStop: database.recoveredFromUncleanStop, missingSince }
  }
  // Loaded on demand: most homes have a file.
  const { openPostgres } = await import('../../storage/postgres/open-postgres.ts')
  const postgres = await openPostgres({ url, clock, log, redact, poolSize })
  return { database: postgres, postgres, uncleanStop: false, missingSince: null }
}
