import { cpSync, existsSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Database } from '../../src/storage/database.ts'
import { openTestDatabase, type TestEngine, testEngine } from '../support/open-test-database.ts'
import { createPostgresDatabase, type PostgresTestDatabase } from '../support/postgres/postgres-database.ts'
import type { Evidence } from './audit/evidence.ts'
import { type Recorded, readRecorded } from './audit/recorded.ts'
import { readRecordedPostgres } from './audit/recorded-postgres.ts'
import { audit, auditRecorded } from './auditor.ts'

/** The database of a scene: a file in its home, or one on a server. */
export interface SceneDatabase {
  engine: TestEngine
  /** The daemon's settings for it. */
  env: Record<string, string>
  /** The settings of a program that opens it by `openTestDatabase` in its home. */
  testEnv: Record<string, string>
  open(): Promise<Database>
  recorded(): Promise<Recorded>
  audit(evidence: Evidence): Promise<string[]>
  /** As the dead daemon left it. */
  auditRemains(evidence: Evidence): Promise<string[]>
  /** Another one that begins as this one is now. The home has been copied before. */
  copy(home: string): Promise<SceneDatabase>
  remove(): Promise<void>
}

export async function createSceneDatabase(home: string, engine: TestEngine = testEngine): Promise<SceneDatabase> {
  return engine === 'postgres' ? onServer(await createPostgresDatabase({ migrated: true })) : inFile(home)
}

function inFile(home: string): SceneDatabase {
  const path = join(home, 'familiar.db')
  return {
    engine: 'sqlite',
    env: {},
    testEnv: {},
    open: () => openTestDatabase({ directory: home, engine: 'sqlite' }),
    recorded: async () => readRecorded(path),
    audit: async (evidence) => audit({ ...evidence, databasePath: path }),
    async auditRemains(evidence) {
      // Of a copy: looking at the file would take up what waits beside it.
      const copy = `${home}-remains`
      mkdirSync(copy)
      for (const name of ['familiar.db', 'familiar.db-wal']) {
        if (existsSync(join(home, name))) cpSync(join(home, name), join(copy, name))
      }
      const violations = audit({ ...evidence, databasePath: join(copy, 'familiar.db'), settled: false })
      rmSync(copy, { recursive: true })
      return violations
    },
    copy: async (otherHome) => inFile(otherHome),
    async remove() {},
  }
}

function onServer(database: PostgresTestDatabase): SceneDatabase {
  const recorded = () => readRecordedPostgres(database.url)
  return {
    engine: 'postgres',
    env: { FAMILIAR_DATABASE_URL: database.url },
    testEnv: { FAMILIAR_TEST_ENGINE: 'postgres', FAMILIAR_TEST_DATABASE_URL: database.url },
    open: () => openTestDatabase({ engine: 'postgres', url: database.url }),
    recorded,
    audit: async (evidence) => auditRecorded({ ...evidence, isShared: true }, await recorded()),
    auditRemains: async (evidence) => auditRecorded({ ...evidence, isShared: true, settled: false }, await recorded()),
    copy: async () => onServer(await createPostgresDatabase({ from: database })),
    remove: database.drop,
  }
}
