import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../../src/base/clock.ts'
import type { Database } from '../../src/storage/database.ts'
import { type OpenPostgresOptions, openPostgres } from '../../src/storage/postgres/open-postgres.ts'
import { openSqlite } from '../../src/storage/sqlite/open-sqlite.ts'
import { createPostgresDatabase } from './postgres/postgres-database.ts'
import { postgresOfDirectory } from './postgres/postgres-of-directory.ts'
import { rehearseUnits } from './rehearse-units.ts'
import { slowWriters } from './slow-writers.ts'

export type TestEngine = Database['engine']

export interface OpenTestDatabaseOptions extends Pick<Partial<OpenPostgresOptions>, 'clock' | 'redact' | 'log'> {
  /**
   * The folder of SQLite's file, or the key of PostgreSQL's database: opened again, it is the same one while the
   * directory exists. By default a separate one that is deleted with the database.
   */
  directory?: string
  engine?: TestEngine
  /** PostgreSQL only: a database that exists already, which stays when this is closed. */
  url?: string | undefined
}

/** The default engine of the suites: FAMILIAR_TEST_ENGINE=postgres, or SQLite. */
export const testEngine: TestEngine = process.env.FAMILIAR_TEST_ENGINE === 'postgres' ? 'postgres' : 'sqlite'

/** Of a program that a test has started: the database that the test has made for it. */
const givenUrl = process.env.FAMILIAR_TEST_DATABASE_URL

/**
 * A real, empty database with the current tables. On PostgreSQL every unit is run and rolled back once before the real
 * run, because it may be retried there. Closing it deletes everything made for it.
 */
export async function openTestDatabase(options: OpenTestDatabaseOptions = {}): Promise<Database> {
  const { clock = systemClock(), directory, engine = testEngine, url = givenUrl, ...rest } = options
  if (engine === 'postgres') {
    const kept = directory === undefined ? url : (url ?? (await postgresOfDirectory(directory)).url)
    const made = kept === undefined ? await createPostgresDatabase({ migrated: true }) : undefined
    const database = await openPostgres({ url: kept ?? made?.url ?? '', clock, poolSize: 8, ...rest })
    return closingWith(slowWriters(rehearseUnits(database)), async () => made?.drop())
  }
  const folder = directory ?? mkdtempSync(join(tmpdir(), 'familiar-database-'))
  const snapshotDirectory = join(folder, 'backups')
  const database = await openSqlite({ path: join(folder, 'familiar.db'), snapshotDirectory, clock, ...rest })
  return closingWith(slowWriters(database), async () => {
    if (directory === undefined) rmSync(folder, { recursive: true, force: true })
  })
}

/** Settings that open the database of that directory in another process. */
export async function sameDatabase(directory: string): Promise<Pick<OpenTestDatabaseOptions, 'directory' | 'url'>> {
  return testEngine === 'postgres' ? { directory, url: (await postgresOfDirectory(directory)).url } : { directory }
}

function closingWith(database: Database, cleanUp: () => Promise<void>): Database {
  return {
    ...database,
    async close() {
      await database.close()
      await cleanUp()
    },
  }
}
