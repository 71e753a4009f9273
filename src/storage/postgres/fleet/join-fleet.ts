import pg from 'pg'
import { z } from 'zod'
import type { Clock } from '../../../base/clock.ts'
import type { Ids } from '../../../base/ids.ts'
import { parseJson } from '../../../base/json.ts'
import type { Logger } from '../../../base/logger.ts'
import type { DaemonRole, Fleet } from '../../fleet.ts'
import type { PostgresDatabase } from '../open-postgres.ts'
import { createLaneJobs } from './create-lane-jobs.ts'
import { createPostgresNotices, noticeChannel } from './create-notices.ts'
import { createPresence } from './presence.ts'

const lookMs = 1_000
const forgetMs = 60_000
/** Notices go one batch after another; beside them, what the dead have locked is set free. */
const noticeConnections = 2
/** Where a whole machine goes, nobody closes its connections: then the server finds out in about half a minute. */
const keepalive = 'set tcp_keepalives_idle = 10; set tcp_keepalives_interval = 5; set tcp_keepalives_count = 4'

/** On which graphile-worker tells that it has changed its tables. */
const migrationChannel = 'worker:migrate'

function isBreaking(payload: string): boolean {
  const told = parseJson(payload, z.object({ breaking: z.boolean() }))
  return told.ok && told.value.breaking
}

/** Makes this daemon one of those that share the database. */
export async function joinFleet({
  database,
  role,
  clock,
  ids,
  logger,
}: {
  database: PostgresDatabase
  role: DaemonRole
  clock: Clock
  ids: Ids
  logger: Logger
}): Promise<Fleet> {
  const daemonId = ids.next()
  const pools: pg.Pool[] = []
  const reportLoss = report('a connection for jobs was lost')
  const pool = openPool(noticeConnections)
  const lost = Promise.withResolvers<string>()
  const notices = createPostgresNotices({ pool, daemonId, onFailure: report('notices were not sent') })
  const presence = createPresence(database, pool)
  const jobs = await createLaneJobs({
    openPool,
    database,
    logger,
    onWorkers: (names) => presence.nameWorkers(daemonId, names),
    tellOthers: (kind) => notices.publish('jobs', kind),
  })
  // The line by which others see this daemon, and on which it hears them.
  const line = new pg.Client(database.pool.options)
  await line.connect()
  line.on('error', (cause) => lost.resolve(cause.message))
  line.on('end', () => lost.resolve('the connection was closed'))
  line.on('notification', ({ channel, payload = '' }) => {
    if (channel === noticeChannel) notices.hear(payload)
    else if (isBreaking(payload)) lost.resolve('another version has changed the tables of the jobs')
  })
  await line.query(keepalive)
  await line.query(`listen ${noticeChannel}; listen "${migrationChannel}"`)
  await presence.enter(line, { id: daemonId, role, now: clock.now() })
  notices.on('gone', () => {
    notices.tellGap()
    // What the dead had begun is free, and nobody else tells.
    jobs.lookAtAll()
  })
  notices.on('jobs', (kind) => jobs.hear(String(kind)))

  /** Beside the units of writing, which may take every connection of theirs while jobs are waited for. */
  function openPool(max: number): pg.Pool {
    const opened = new pg.Pool({ ...database.pool.options, max })
    opened.on('error', reportLoss)
    // Also of one that somebody has just taken.
    opened.on('connect', (client) => client.on('error', reportLoss))
    pools.push(opened)
    return opened
  }

  function report(what: string): (cause: unknown) => void {
    return (cause) => logger.warn(what, { error: cause instanceof Error ? cause.message : String(cause) })
  }

  let begin: (() => void) | undefined
  let leads = false
  let forgetAt = 0
  let isClosed = false
  let looking: Promise<void> = Promise.resolve()

  async function look(): Promise<void> {
    const { daemons, workers } = await presence.bury()
    if (daemons > 0) {
      logger.warn('a daemon is gone; what it had begun is handed on', { daemons })
      notices.publish('gone', daemons)
      notices.tellGap()
    }
    if (workers > 0) jobs.lookAtAll()
    if (leads && clock.now() >= forgetAt) await forgetIdle()
    if (!begin || !(await presence.tryToLead(line))) return
    leads = true
    const beginOnce = begin
    begin = undefined
    beginOnce()
  }

  async function forgetIdle(): Promise<void> {
    forgetAt = clock.now() + forgetMs
    await jobs.forgetIdle()
  }

  function lookAgain(): void {
    if (isClosed) return
    clock.after(lookMs, () => {
      looking = isClosed
        ? Promise.resolve()
        : look().catch(report('the other daemons could not be looked at')).then(lookAgain)
    })
  }
  lookAgain()

  return {
    daemonId,
    role,
    notices,
    jobs,
    onLead(listener) {
      begin = listener
      looking = looking.then(look).catch(report('nobody could be made the leader'))
    },
    lost: lost.promise,
    async close() {
      isClosed = true
      await looking
      await notices.flush()
      await presence.leave(daemonId).catch(report('the daemon could not take its leave'))
      await line.end().catch(() => undefined)
      await Promise.all(pools.map((opened) => opened.end()))
    },
  }
}
