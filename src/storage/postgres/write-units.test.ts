import fc from 'fast-check'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { appendEvent, eventNumbers, numbers, seed, total } from '../../../test/contract/storage-support.ts'
import { startBreakingProxy } from '../../../test/support/postgres/breaking-proxy.ts'
import { createPostgresDatabase, type PostgresTestDatabase } from '../../../test/support/postgres/postgres-database.ts'
import { whyNoPostgres } from '../../../test/support/postgres/start-postgres.ts'
import { rehearseUnits } from '../../../test/support/rehearse-units.ts'
import { systemClock } from '../../base/clock.ts'
import type { Database, Writer } from '../database.ts'
import { openPostgres } from './open-postgres.ts'

const open = (url: string) => openPostgres({ url, clock: systemClock(), poolSize: 12 })
const missing = whyNoPostgres()

describe.skipIf(missing)(missing ?? 'units on PostgreSQL', () => {
  let made: PostgresTestDatabase
  let daemons: Database[]

  beforeAll(async () => {
    made = await createPostgresDatabase({ migrated: true })
    daemons = await Promise.all([open(made.url), open(made.url)])
    await seed(daemons[0] as Database)
  })
  afterAll(async () => {
    await Promise.all((daemons ?? []).map((daemon) => daemon.close()))
    await made?.drop()
  })
  beforeEach(async () => {
    await first().write(async (writer) => {
      await writer.deleteFrom('session_events').execute()
      await writer.deleteFrom('cost_totals').execute()
    })
  })

  const first = () => daemons[0] as Database
  const daemonFor = (index: number) => daemons[index % daemons.length] as Database

  async function balances(reader: Database['read'] | Writer): Promise<Map<string, number>> {
    const rows = await reader.selectFrom('cost_totals').select(['period', 'spent_nanousd']).execute()
    return new Map(rows.map((row) => [row.period, row.spent_nanousd]))
  }

  async function take(writer: Writer, period: string, amount: number): Promise<boolean> {
    const known = await balances(writer)
    const together = [...known.values()].reduce((sum, value) => sum + value, 0)
    if (together < amount) return false
    await writer
      .updateTable('cost_totals')
      .set({ spent_nanousd: (known.get(period) ?? 0) - amount })
      .where('period', '=', period)
      .execute()
    return true
  }

  it('SCALE-2 concurrent increments by many daemons lose none', async () => {
    await first().write((writer) => writer.insertInto('cost_totals').values(total('a', 0)).execute())
    const add = (index: number) =>
      daemonFor(index).write(async (writer) => {
        const now = (await balances(writer)).get('a') ?? 0
        await writer
          .updateTable('cost_totals')
          .set({ spent_nanousd: now + 1 })
          .execute()
        return now + 1
      })
    const seen = await Promise.all(numbers(1, 60).map(add))
    expect(seen.toSorted((a, b) => a - b)).toEqual(numbers(1, 60))
  })

  it('SCALE-2 units with row locks wait for each other and are not retried', async () => {
    await first().write((writer) => writer.insertInto('cost_totals').values(total('a', 0)).execute())
    let runs = 0
    const add = (index: number) =>
      daemonFor(index).write(
        async (writer) => {
          runs += 1
          await balances(writer)
          await writer
            .updateTable('cost_totals')
            .set((column) => ({ spent_nanousd: column('spent_nanousd', '+', 1) }))
            .execute()
        },
        { meets: 'rows' },
      )
    await Promise.all(numbers(1, 60).map(add))
    expect((await balances(first().read)).get('a')).toBe(60)
    expect(runs).toBe(60)
  })

  it('SCALE-2 of two mutually exclusive units exactly one succeeds', async () => {
    const amounts = fc.array(
      fc.record({ from: fc.constantFrom('a', 'b', 'c'), amount: fc.integer({ min: 1, max: 6 }) }),
      {
        minLength: 2,
        maxLength: 8,
      },
    )
    await fc.assert(
      fc.asyncProperty(amounts, async (takings) => {
        await first().write(async (writer) => {
          await writer.deleteFrom('cost_totals').execute()
          await writer
            .insertInto('cost_totals')
            .values([total('a', 3), total('b', 3), total('c', 3)])
            .execute()
        })
        const done = await Promise.all(
          takings.map(({ from, amount }, index) => daemonFor(index).write((writer) => take(writer, from, amount))),
        )
        const taken = takings.reduce((sum, { amount }, index) => sum + (done[index] ? amount : 0), 0)
        const left = [...(await balances(first().read)).values()].reduce((sum, value) => sum + value, 0)
        expect(left).toBe(9 - taken)
        expect(left).toBeGreaterThanOrEqual(0)
      }),
      { numRuns: 25 },
    )
  })

  it('SCALE-2 when all check before inserting, one inserts and the others find the row', async () => {
    const find = (index: number) =>
      daemonFor(index).write(async (writer) => {
        const there = await writer.selectFrom('session_events').select('data').where('seq', '=', 1).executeTakeFirst()
        if (there) return there.data
        await appendEvent(writer, 1, `${index}`)
        return `${index}`
      })
    const found = await Promise.all(numbers(1, 12).map(find))
    expect(new Set(found).size).toBe(1)
    expect(await eventNumbers(first())).toEqual([1])
  })

  it('SCALE-2 a retried unit has the same effect as one that ran once', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(20), { maxLength: 12 }), async (sequence) => {
        const left = async (database: Database) => {
          await database.write((writer) => writer.deleteFrom('session_events').execute())
          const results = await Promise.allSettled(
            sequence.map((seq) => database.write((writer) => appendEvent(writer, seq))),
          )
          return {
            kept: await eventNumbers(database),
            done: results.filter(({ status }) => status === 'fulfilled').length,
          }
        }
        expect(await left(rehearseUnits(first()))).toEqual(await left(first()))
      }),
      { numRuns: 8 },
    )
  })

  it('SCALE-2 a unit that lost its connection is run again and stored once', async () => {
    await using proxy = await startBreakingProxy(made.url)
    const database = await open(proxy.url)
    let runs = 0
    for (const when of ['before', 'after'] as const) {
      proxy.breakAt('insert into', when)
      await database.write(async (writer) => {
        runs += 1
        await appendEvent(writer, when === 'before' ? 1 : 2)
      })
    }
    expect(runs).toBe(4)
    expect(await eventNumbers(first())).toEqual([1, 2])
    await database.close()
  })

  it.each(['before', 'after'] as const)(
    'SCALE-2 a unit that lost its connection at the commit, %s it was heard, rejects and is not run again',
    async (when) => {
      await using proxy = await startBreakingProxy(made.url)
      const database = await open(proxy.url)
      let runs = 0
      proxy.breakAt('commit', when)
      const unit = database.write(async (writer) => {
        runs += 1
        await appendEvent(writer, 1)
      })
      await expect(unit).rejects.toMatchObject({
        code: 'unavailable',
        message: expect.stringMatching(/may or may not be stored/),
      })
      expect(runs).toBe(1)
      expect(await eventNumbers(first())).toEqual(when === 'after' ? [1] : [])
      // The next unit gets another connection.
      await database.write((writer) => appendEvent(writer, 2))
      await database.close()
    },
  )
})
