import { describe } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { openPostgres } from '../../src/storage/postgres/open-postgres.ts'
import { createPostgresDatabase } from '../support/postgres/postgres-database.ts'
import { whyNoPostgres } from '../support/postgres/start-postgres.ts'
import { describeStorage } from './storage-contract.ts'

const missing = whyNoPostgres()

describe.skipIf(missing)(missing ?? 'SCALE-1', () => {
  describeStorage(
    'PostgreSQL',
    async () => {
      const made = await createPostgresDatabase({ migrated: true })
      const open = () => openPostgres({ url: made.url, clock: systemClock() })
      let database = await open()
      return {
        database,
        directory: '',
        async reopen() {
          await database.close()
          database = await open()
          return database
        },
        async dispose() {
          await database.close()
          await made.drop()
        },
      }
    },
    { hasBackups: false, keepsOrderOfCalls: false, queryTexts: process.env.FAMILIAR_TEST_ALL ? 2000 : 100 },
  )
})
