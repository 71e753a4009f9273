import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { appendEvent, eventNumbers, seed } from '../../test/contract/storage-support.ts'
import { createPostgresDatabase } from '../../test/support/postgres/postgres-database.ts'
import { whyNoPostgres } from '../../test/support/postgres/start-postgres.ts'
import { systemClock } from '../base/clock.ts'
import { openPostgres } from '../storage/postgres/open-postgres.ts'
import { HeldElsewhere } from './coordination.ts'
import { createSessionHolders } from './fleet-coordination.ts'

const missing = whyNoPostgres()

describe.skipIf(missing)(missing ?? 'who holds a session', () => {
  it('SCALE-4 a daemon that takes a session reads everything that the previous holder wrote, and that holder can write no more', async () => {
    await using made = await createPostgresDatabase({ migrated: true })
    const database = await openPostgres({ url: made.url, clock: systemClock(), poolSize: 8 })
    await seed(database)
    const before = createSessionHolders(database, 'before')
    const next = createSessionHolders(database, 'next')
    await before.take('session')

    const passed = Promise.withResolvers<void>()
    const written = database.write(async (writer) => {
      await before.requireIn(writer, 'session')
      passed.resolve()
      // Time enough for the other one to take it, if it could.
      await sql`select pg_sleep(0.5)`.execute(writer)
      await appendEvent(writer, 1)
    })
    await passed.promise
    await next.take('session')
    expect(await eventNumbers(database)).toEqual([1])
    await written

    const late = database.write((writer) => before.requireIn(writer, 'session'))
    await expect(late).rejects.toThrow(HeldElsewhere)
    await database.write((writer) => next.requireIn(writer, 'session'))
    await database.close()
  })
})
