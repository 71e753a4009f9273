import { existsSync, statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { formatBytes, plural } from '../../base/format.ts'
import { allMigrations } from '../../storage/migrations/all-migrations.ts'
import { inspectFile } from '../../storage/sqlite/inspect-file.ts'
import { planSqliteMigrations } from '../../storage/sqlite/migrate-sqlite.ts'
import { createSqliteConnection } from '../../storage/sqlite/sqlite-connection.ts'
import { newestBackup, stoppedUncleanly } from '../../storage/sqlite/sqlite-files.ts'
import { homePaths } from '../home-paths.ts'
import { type Finding, fail, ok, quoted, reasonOf, warn } from './finding.ts'

export interface DatabaseCheck {
  findings: Finding[]
  /** The latest time that it holds. */
  newestEvent?: number
}

/** Reads the whole file, in a thread of its own; a daemon that has it open is not disturbed. */
export async function checkDatabase(homePath: string, options: { isInUse: boolean }): Promise<DatabaseCheck> {
  const { database: path, backups } = homePaths(homePath)
  if (!existsSync(path)) return { findings: [ok('database', 'There is none yet; the first start makes it.')] }
  const backup = newestBackup(backups)
  const mend = backup ? `familiar restore ${quoted(backup)}` : undefined
  try {
    const problems = await inspectFile(path, 'full')
    if (problems.length > 0) return { findings: [fail('database', `${path} is damaged: ${problems[0]}`, mend)] }
    const { pending, newestEvent } = await look(path)
    const findings = [describeVersion(path, pending)]
    if (!options.isInUse && stoppedUncleanly(path)) {
      findings.push(
        warn(
          'database',
          'The last stop was not clean. It is sound; interrupted turns go on at the next start.',
          'familiar serve',
        ),
      )
    }
    return { findings, ...(newestEvent !== undefined && { newestEvent }) }
  } catch (error) {
    return { findings: [fail('database', reasonOf(error), mend)] }
  }
}

function describeVersion(path: string, pending: readonly { name: string }[]): Finding {
  const size = formatBytes(statSync(path).size)
  if (pending.length === 0) return ok('database', `Sound, ${size}, version ${allMigrations.at(-1)?.name}`)
  const waiting = plural(pending.length, 'change')
  return ok('database', `Sound, ${size}; the next start makes ${waiting} to it, with a copy of the state before.`)
}

async function look(path: string) {
  const raw = new DatabaseSync(path, { readOnly: true, timeout: 5_000 })
  try {
    const { pending, isEmpty } = await planSqliteMigrations(createSqliteConnection(raw, path), path, allMigrations)
    if (isEmpty) return { pending, newestEvent: undefined }
    const newest = raw.prepare('select max(at) as at from session_events').get()?.at
    return { pending, newestEvent: typeof newest === 'number' ? newest : undefined }
  } finally {
    raw.close()
  }
}
