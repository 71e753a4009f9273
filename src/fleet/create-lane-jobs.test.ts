import { setTimeout as pause } from 'node:timers/promises'
import { sql } from 'kysely'
import type pg from 'pg'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openTestPool } from '../../test/support/postgres/open-test-pool.ts'
import { createPostgresDatabase, type PostgresTestDatabase } from '../../test/support/postgres/postgres-database.ts'
import { whyNoPostgres } from '../../test/support/postgres/start-postgres.ts'
import { systemClock } from '../base/clock.ts'
import { silentLogger } from '../base/logger.ts'
import { openPostgres, type PostgresDatabase } from '../storage/postgres/open-postgres.ts'
import { createLaneJobs } from './join-fleet.ts'

type Jobs = Awaited<ReturnType<typeof createLaneJobs>>

const missing = whyNoPostgres()
/** Longer than any test: a job can only be found through a notice. */
const never = 600_000

describe.skipIf(missing)(missing ?? 'lanes on PostgreSQL', () => {
  let made: PostgresTestDatabase
  let close: (() => Promise<unknown>)[]
  let daemons: Jobs[]

  beforeEach(async () => {
    made = await createPostgresDatabase({ migrated: true })
    close = []
    daemons = []
  })
  afterEach(async () => {
    await Promise.all(close.map((closeOne) => closeOne()))
    await made.drop()
  })

  async function openDaemon(): Promise<{ jobs: Jobs; database: PostgresDatabase }> {
    const database = await openPostgres({ url: made.url, clock: systemClock(), poolSize: 6 })
    const pools: pg.Pool[] = []
    const openPool = (max: number) => {
      const pool = openTestPool({ ...database.pool.options, max })
      pools.push(pool)
      return pool
    }
    const onWorkers = async () => {}
    const tellOthers = (kind: string) => {
      for (const other of daemons) if (other !== jobs) other.hear(kind)
    }
    const jobs = await createLaneJobs({
      openPool,
      database,
      logger: silentLogger,
      onWorkers,
      tellOthers,
      pollMs: never,
    })
    daemons.push(jobs)
    close.push(async () => {
      await jobs.drain()
      await Promise.all([...pools.map((pool) => pool.end()), database.close()])
    })
    return { jobs, database }
  }

  it('SCALE-4 a lane that is asked for elsewhere while it is looked at is looked at again as soon as it is free', async () => {
    const [here, elsewhere] = await Promise.all([openDaemon(), openDaemon()])
    const first = Promise.withResolvers<void>()
    const second = Promise.withResolvers<void>()
    const gate = Promise.withResolvers<void>()
    let looks = 0
    await here.jobs.work('talk', {
      atOnce: 4,
      async look() {
        looks += 1
        if (looks > 1) return second.resolve()
        first.resolve()
        await gate.promise
      },
    })
    await here.jobs.ask({ kind: 'talk', id: 'lane' })
    await first.promise
    await elsewhere.jobs.ask({ kind: 'talk', id: 'lane' })
    // The job is found although no worker is waiting when it becomes free.
    await pause(300)
    gate.resolve()
    await second.promise
    expect(looks).toBe(2)
  })

  it('SCALE-4 a job that a daemon does not take is run by another one, every time', async () => {
    const [here, elsewhere] = await Promise.all([openDaemon(), openDaemon()])
    let looked = Promise.withResolvers<void>()
    await here.jobs.work('talk', { atOnce: 4, look: async () => looked.resolve() })
    for (let round = 0; round < 5; round += 1) {
      looked = Promise.withResolvers()
      await elsewhere.jobs.ask({ kind: 'talk', id: `lane ${round}` })
      await looked.promise
      await expect.poll(() => countOf(here.database, '_private_jobs'), { interval: 5 }).toBe(0)
    }
  })

  it('SCALE-4 a job that finds no free place runs on a daemon that has one', async () => {
    const [here, elsewhere] = await Promise.all([openDaemon(), openDaemon()])
    const bothLookedAt = Promise.withResolvers<void>()
    const looked = new Set<string>()
    const look = async (id: string) => {
      looked.add(id)
      if (looked.size === 2) bothLookedAt.resolve()
      await bothLookedAt.promise
    }
    for (const { jobs } of [here, elsewhere]) await jobs.work('talk', { atOnce: 1, look })
    await here.jobs.ask({ kind: 'talk', id: 'first' })
    await here.jobs.ask({ kind: 'talk', id: 'second' })
    await bothLookedAt.promise
  })

  it('SCALE-4 lanes that many daemons are asked for in one moment are all looked at, though each who fetches hides the rest', async () => {
    const here = await Promise.all(Array.from({ length: 4 }, openDaemon))
    const looked = new Set<string>()
    for (const { jobs } of here) await jobs.work('talk', { atOnce: 8, look: async (id) => void looked.add(id) })
    for (let round = 0; round < 10; round += 1) {
      await Promise.all(here.map(({ jobs }, index) => jobs.ask({ kind: 'talk', id: `${round} ${index}` })))
      await expect.poll(() => looked.size, { interval: 5 }).toBe(4 * (round + 1))
    }
  })

  it('SCALE-4 a lane that is forgotten as idle in the moment in which it is asked for is looked at', async () => {
    const [here, elsewhere] = await Promise.all([openDaemon(), openDaemon()])
    const lane = { kind: 'talk', id: 'lane' }
    let looks = 0
    const look = async () => {
      looks += 1
    }
    await here.jobs.work('talk', { atOnce: 4, look })
    await here.jobs.ask(lane)
    await expect.poll(() => countOf(here.database, '_private_jobs')).toBe(0)

    const asked = Promise.withResolvers<void>()
    const unit = here.database.write(async (writer) => {
      await here.jobs.askIn(writer, lane)
      asked.resolve()
      // Time enough for the other one to forget it before this is committed.
      await sql`select pg_sleep(0.3)`.execute(writer)
    })
    await asked.promise
    await elsewhere.jobs.forgetIdle()
    await unit
    here.jobs.hurry('talk')
    await expect.poll(() => countOf(here.database, '_private_jobs'), { timeout: 10_000 }).toBe(0)
    expect(looks).toBe(2)
  })

  it('SCALE-4 a look that fails after its lane was asked for again leaves no job and no queue behind', async () => {
    const { jobs, database } = await openDaemon()
    const lane = { kind: 'talk', id: 'lane' }
    const again = Promise.withResolvers<void>()
    let looks = 0
    await jobs.work('talk', {
      atOnce: 4,
      async look() {
        looks += 1
        if (looks > 1) return again.resolve()
        await jobs.ask(lane)
        throw new Error('It fails.')
      },
    })
    await jobs.ask(lane)
    await again.promise
    // graphile-worker keeps the failed job and never retries it.
    await expect.poll(() => countOf(database, '_private_jobs where attempts = max_attempts')).toBe(1)
    await expect.poll(() => countOf(database, '_private_job_queues where locked_at is not null')).toBe(0)
    await jobs.forgetIdle()
    expect(await countOf(database, '_private_jobs')).toBe(0)
    expect(await countOf(database, '_private_job_queues')).toBe(0)
  })

  it('SCALE-4 over two daemons and while idle lanes are forgotten: one look at a time, and one after every request', async () => {
    const both = await Promise.all([openDaemon(), openDaemon()])
    const lanes = ['a', 'b', 'c', 'd', 'e', 'f']
    let moment = 0
    const looking = new Set<string>()
    const lookedAt = new Map<string, number>()
    const askedAt = new Map<string, number>()
    let together = 0
    for (const { jobs } of both) {
      await jobs.work('talk', {
        atOnce: 3,
        async look(id) {
          if (looking.has(id)) together += 1
          looking.add(id)
          moment += 1
          lookedAt.set(id, moment)
          await pause(Math.random() * 5)
          looking.delete(id)
        },
      })
    }
    const asks = lanes.flatMap((id) => Array.from({ length: 12 }, () => id))
    const ask = async (id: string, index: number) => {
      await pause(Math.random() * 400)
      moment += 1
      askedAt.set(id, moment)
      await both[index % 2]?.jobs.ask({ kind: 'talk', id })
    }
    const forget = async () => {
      for (let times = 0; times < 20; times += 1) {
        await both[times % 2]?.jobs.forgetIdle()
        await pause(20)
      }
    }
    await Promise.all([...asks.map(ask), forget()])
    await expect.poll(() => countOf(both[0]?.database, '_private_jobs'), { timeout: 20_000 }).toBe(0)
    expect(lanes.filter((id) => (lookedAt.get(id) ?? 0) < (askedAt.get(id) ?? 0))).toEqual([])
    expect(together).toBe(0)
    await both[0]?.jobs.forgetIdle()
    expect(await countOf(both[0]?.database, '_private_job_queues')).toBe(0)
  })
})

async function countOf(database: PostgresDatabase | undefined, table: string): Promise<number> {
  const counted = await database?.pool.query(`select count(*)::int as count from graphile_worker.${table}`)
  return counted?.rows[0].count
}
