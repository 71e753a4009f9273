import { EventEmitter } from 'node:events'
import { type Runner, run, runMigrations, type WorkerEvents, Logger as WorkerLogger } from 'graphile-worker'
import { sql } from 'kysely'
import pg, { type Pool } from 'pg'
import { z } from 'zod'
import type { Clock } from '../base/clock.ts'
import type { Ids } from '../base/ids.ts'
import { parseJson } from '../base/json.ts'
import type { Logger } from '../base/logger.ts'
import { reasonOf } from '../base/text.ts'
import type { Json } from '../protocol/messages.ts'
import type { Database, Writer } from '../storage/database.ts'
import type { PostgresDatabase } from '../storage/postgres/open-postgres.ts'
import type { DaemonRole, Lane } from './fleet.ts'
import { createPresence } from './presence.ts'

const lookMs = 1_000
const forgetMs = 60_000
/** Notices go one batch after another; beside them, what the dead have locked is set free. */
const noticeConnections = 2
/** If a whole machine disappears, its connections are not closed: the server detects that in about half a minute. */
const keepalive = 'set tcp_keepalives_idle = 10; set tcp_keepalives_interval = 5; set tcp_keepalives_count = 4'

/** The channel on which graphile-worker announces changes of its tables. */
const migrationChannel = 'worker:migrate'

function isBreaking(payload: string): boolean {
  const change = parseJson(payload, z.object({ breaking: z.boolean() }))
  return change.ok && change.value.breaking
}

/** The daemons that share one database, as one of them sees them. */
export type Fleet = Awaited<ReturnType<typeof joinFleet>>

export async function joinFleet(options: {
  database: PostgresDatabase
  role: DaemonRole
  clock: Clock
  ids: Ids
  logger: Logger
}) {
  const { database, role, clock, ids, logger } = options
  const daemonId = ids.next()
  const pools: pg.Pool[] = []
  const reportLoss = report('a connection for jobs was lost')
  const pool = openPool(noticeConnections)
  const lost = Promise.withResolvers<string>()
  const notices = createPostgresNotices({ pool, daemonId, onFailure: report('could not send notices') })
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
    // The work of the dead daemon is free now, and nothing else announces it.
    jobs.lookAtAll()
  })
  notices.on('jobs', (kind) => jobs.hear(String(kind)))

  /** Separate from the write units, which may use all their connections while jobs are awaited. */
  function openPool(max: number): pg.Pool {
    const opened = new pg.Pool({ ...database.pool.options, max })
    opened.on('error', reportLoss)
    // Also for a client that was just checked out.
    opened.on('connect', (client) => client.on('error', reportLoss))
    pools.push(opened)
    return opened
  }

  function report(what: string): (cause: unknown) => void {
    return (cause) => logger.warn(what, { error: reasonOf(cause) })
  }

  let begin: (() => void) | undefined
  let leads = false
  let forgetAt = 0
  let isClosed = false
  let looking: Promise<void> = Promise.resolve()

  async function look(): Promise<void> {
    const { daemons, workers } = await presence.bury()
    if (daemons > 0) {
      logger.warn('a daemon died; its work is handed over', { daemons })
      notices.publish('gone', daemons)
      notices.tellGap()
    }
    if (workers > 0) jobs.lookAtAll()
    if (leads && clock.now() >= forgetAt) {
      forgetAt = clock.now() + forgetMs
      await jobs.forgetIdle()
    }
    if (!begin || !(await presence.tryToLead(line))) return
    leads = true
    const beginOnce = begin
    begin = undefined
    beginOnce()
  }

  function lookAgain(): void {
    if (isClosed) return
    clock.after(lookMs, () => {
      looking = isClosed ? Promise.resolve() : look().catch(report('could not check the other daemons')).then(lookAgain)
    })
  }
  lookAgain()

  return {
    daemonId,
    role,
    notices,
    jobs,
    /**
     * Calls once this daemon has become the leader: at once, or when the previous leader is gone. It stays the leader
     * until `lost`.
     */
    onLead(listener: () => void) {
      begin = listener
      looking = looking.then(look).catch(report('could not elect a leader'))
    },
    /**
     * Resolves with the reason when the connection by which the others see this daemon has broken. They take it for
     * dead and hand its work on, so it must stop what it does; nothing that it still writes to a turn is taken.
     */
    lost: lost.promise,
    /** The others see it go. After the jobs are drained. */
    async close() {
      isClosed = true
      await looking
      await notices.flush()
      await presence.leave(daemonId).catch(report('could not unregister the daemon'))
      await line.end().catch(() => undefined)
      await Promise.all(pools.map((opened) => opened.end()))
    },
  }
}

/**
 * While a worker fetches a job it locks every free lane, so another worker sees none at that moment. A worker that was
 * notified of a job and found none therefore looks again, this many times with this growing delay.
 */
const maxFailedLooks = 2
const failedLookMs = 25

/** The places of one kind in this process, and the way to wake those that wait for a job. */
export function createLaneWorkers(atOnce: number) {
  const events: WorkerEvents = new EventEmitter()
  let wakeOne = () => {}
  let busy = 0
  let expected = 0
  let failedLooks = 0
  let again: NodeJS.Timeout | undefined

  events.on('pool:create', ({ workerPool }) => {
    const nudge = workerPool.nudge.bind(workerPool)
    wakeOne = () => nudge(1)
    // It would wake all workers of every daemon for a job of any kind.
    workerPool.nudge = () => {}
  })
  // Its notices are ignored: each notice of any daemon would wake this connection as well.
  events.on('pool:listen:success', ({ client }) => {
    setImmediate(() => client.query('unlisten *').catch(() => undefined))
  })
  events.on('job:start', () => {
    busy += 1
    failedLooks = 0
    if (expected > 0) expected -= 1
    // If one job came without a notice, there may be another.
    else wakeOne()
  })
  events.on('job:complete', () => {
    busy -= 1
  })
  events.on('worker:getJob:empty', () => {
    if (expected === 0 || again) return
    failedLooks += 1
    if (failedLooks > maxFailedLooks) {
      expected = 0
      failedLooks = 0
      return
    }
    again = setTimeout(() => {
      again = undefined
      wakeOne()
    }, failedLookMs * failedLooks)
  })

  return {
    /** Passed to graphile-worker, which reports its workers here. */
    events,
    hasPlace: () => busy + expected < atOnce,
    /** There is a job: one who waits looks for it. */
    expectOne() {
      expected += 1
      wakeOne()
    },
    /** There may be a job without a notice. */
    lookOnce: () => wakeOne(),
    stop() {
      clearTimeout(again)
      wakeOne = () => {}
    },
  }
}

/**
 * It recommends as many connections and prefetched jobs as there are places. Jobs here do not use its connections, and
 * a prefetched job is not available to the other daemons.
 */
const beside = /^(WARNING: having maxPoolSize|Your job batch size)/

/** The messages of graphile-worker, in our log. Starts and ends of jobs are only useful for debugging. */
function workerLogger(logger: Logger): WorkerLogger {
  return new WorkerLogger(() => (level, message) => {
    if (level === 'error') logger.error('worker', { message })
    else if (level === 'warning' && !beside.test(message)) logger.warn('worker', { message })
    else logger.debug('worker', { message })
  })
}

/** A look that fails is no reason to give the lane up; those who die while they look count as failures too. */
const maxAttempts = 32_767

/**
 * graphile-worker keeps one connection to listen for new jobs, which are announced differently here. The other fetches
 * and completes them, one statement after another: so a fetch after a completion sees the lane free.
 */
const connectionsOfKind = 2

/** The longest delay for jobs without a notice, above all those with a later time. */
const usualPollMs = 5_000
/** Each of the workers for itself, beside that. */
const workerPollMs = 60_000

export type LaneJobs = Awaited<ReturnType<typeof createLaneJobs>>

interface LookWhen {
  /** Not before this time; now, where it is absent. An earlier request for the lane is moved to now, never to later. */
  notBefore?: number
}

/**
 * Lanes with work, for any daemon that has a free place. One daemon at a time looks at a lane; if it dies, another one
 * does. The tables say what to do, not the job: one look may serve several requests, and an extra look finds nothing to
 * do.
 *
 * Lanes as queues of graphile-worker, which runs the jobs of one queue one after another. A waiting lane has one job,
 * identified by its key; a lane that is being looked at gets a second one, because the look may have just missed the
 * new work.
 *
 * If this process has a free place it looks at the job itself, so that no other daemon wakes up for nothing. Otherwise
 * it calls `tellOthers`, and the daemons that receive it call `hear`.
 *
 * `onWorkers` gets the names under which this daemon locks jobs: another daemon unlocks them when this one dies.
 */
export async function createLaneJobs(options: {
  openPool(connections: number): Pool
  database: Pick<Database, 'write'>
  logger: Logger
  pollMs?: number
  onWorkers(names: readonly string[]): Promise<void>
  tellOthers(kind: string): void
}) {
  const { openPool, database, logger, onWorkers, tellOthers, pollMs = usualPollMs } = options
  const shared = { logger: workerLogger(logger), noHandleSignals: true }
  const runners: Runner[] = []
  const names: string[] = []
  const workers = new Map<string, ReturnType<typeof createLaneWorkers>>()
  let polling: NodeJS.Timeout | undefined
  const firstPool = openPool(connectionsOfKind)
  await runMigrations({ ...shared, pgPool: firstPool })
  const pools = [firstPool]

  /** In the unit of the caller: what the unit writes is looked at once it is committed, even if this process dies. */
  async function askIn(writer: Writer, { kind, id }: Lane, { notBefore }: LookWhen = {}): Promise<void> {
    const lane = `${kind}:${id}`
    const runAt = notBefore === undefined ? new Date() : new Date(notBefore)
    const mode = notBefore === undefined ? 'replace' : 'preserve_run_at'
    await sql`
      select graphile_worker.add_job(
        ${kind}::text, payload => ${JSON.stringify({ id })}::json, queue_name => ${id}::text,
        run_at => ${runAt.toISOString()}::timestamptz, max_attempts => ${maxAttempts}::integer,
        job_key => ${lane}::text, job_key_mode => ${mode}::text)`.execute(writer)
  }

  /** Whether there is a place for it here. */
  function expectHere(kind: string): boolean {
    const own = workers.get(kind)
    if (!own?.hasPlace()) return false
    own.expectOne()
    return true
  }

  /** After the commit of a unit with `askIn`: a free place for this kind looks at once, in this process first. */
  function hurry(kind: string): void {
    if (!expectHere(kind)) tellOthers(kind)
  }

  function lookAtAll(): void {
    for (const own of workers.values()) own.lookOnce()
  }

  return {
    askIn,
    async ask(lane: Lane, when?: LookWhen) {
      await database.write((writer) => askIn(writer, lane, when), { meets: 'rows' })
      if (when?.notBefore === undefined) hurry(lane.kind)
    },
    hurry,
    hear: (kind: string) => void expectHere(kind),
    lookAtAll,
    /** Starts to work on lanes of the kind, with this many at once. `look` does not reject. */
    async work(kind: string, { atOnce, look }: { atOnce: number; look(id: string): Promise<void> }) {
      const own = createLaneWorkers(atOnce)
      own.events.on('pool:create', ({ workerPool }) => names.push(workerPool.id))
      const runner = await run({
        ...shared,
        pgPool: pools.pop() ?? openPool(connectionsOfKind),
        events: own.events,
        preset: { worker: { concurrentJobs: atOnce, pollInterval: workerPollMs } },
        taskList: { [kind]: (payload) => look((payload as { id: string }).id) },
      })
      runner.promise.catch((cause) => logger.error('workers stopped', { kind, error: String(cause) }))
      runners.push(runner)
      workers.set(kind, own)
      polling ??= setInterval(lookAtAll, pollMs)
      await onWorkers(names)
    },
    /** Begins no further look; resolves when none is under way. */
    async drain() {
      clearInterval(polling)
      for (const own of workers.values()) own.stop()
      workers.clear()
      await Promise.all(runners.splice(0).map((runner) => runner.stop()))
    },
    /**
     * A worker that fetches a job locks every free queue, so queues of idle lanes must be deleted. This needs a moment
     * without new requests, which could otherwise leave a job without a queue. If a worker holds the queues for long,
     * the cleanup is skipped, since all others would have to wait behind it.
     *
     * A lane that is requested while it is being looked at gets a second job, and graphile-worker marks the first one
     * as never to be retried. If that look fails or its daemon dies, the first job would stay and keep its queue.
     */
    async forgetIdle() {
      const forgotten = database.write(async (writer) => {
        await sql`set local lock_timeout = '200ms'`.execute(writer)
        // The first reading statement comes after it, and so sees all earlier requests.
        await sql`lock table graphile_worker._private_job_queues in share row exclusive mode`.execute(writer)
        await sql`
          delete from graphile_worker._private_jobs
          where locked_at is null and key is null and attempts >= max_attempts`.execute(writer)
        await sql`
          delete from graphile_worker._private_job_queues as queue
          where locked_at is null and not exists (
            select 1 from graphile_worker._private_jobs as job where job.job_queue_id = queue.id
          )`.execute(writer)
      })
      await forgotten.catch((cause) => logger.debug('idle lanes are kept for now', { error: String(cause) }))
    },
  }
}

const noticeChannel = 'familiar'

/** PostgreSQL takes less than 8,000 bytes. */
const maxBytes = 7_900

/** With a name it is parsed once for a connection. */
const notify = { name: 'familiar_notify', text: 'select pg_notify($1, payload) from unnest($2::text[]) as payload' }

const noticeSchema = z.object({ from: z.string(), topic: z.string(), data: z.json() })

export type Notices = Pick<ReturnType<typeof createPostgresNotices>, 'publish' | 'on' | 'onGap'>

/**
 * Short notices between the daemons that share a database. They are fast but not reliable: the receiver reads the data
 * from the tables, and reads everything after a gap. A daemon does not receive its own.
 *
 * They are sent outside of any transaction that writes: inside, every commit of the database would wait for one lock.
 * `hear` is given what the listening connection receives.
 */
function createPostgresNotices(options: {
  pool: Pick<Pool, 'query'>
  daemonId: string
  onFailure(cause: unknown): void
}) {
  const { pool, daemonId, onFailure } = options
  const listeners = new Map<string, Set<(data: Json) => void>>()
  const gapListeners = new Set<() => void>()
  let waiting: string[] = []
  let sending: Promise<void> | undefined

  async function send(): Promise<void> {
    while (waiting.length > 0) {
      const payloads = waiting
      waiting = []
      await pool.query({ ...notify, values: [noticeChannel, payloads] })
    }
  }

  function flush(): Promise<void> {
    sending ??= send()
      .catch(onFailure)
      .finally(() => {
        sending = undefined
      })
    return sending
  }

  return {
    /** Returns at once. Notices of the same moment are sent together; those of more than a few kilobytes are not sent. */
    publish(topic: string, data: Json) {
      const payload = JSON.stringify({ from: daemonId, topic, data })
      if (Buffer.byteLength(payload) > maxBytes) return
      waiting.push(payload)
      // After the other notices of this moment.
      if (waiting.length === 1) setImmediate(() => void flush())
    },
    /** Calls until the returned function is called. */
    on(topic: string, listener: (data: Json) => void) {
      const known = listeners.get(topic) ?? new Set()
      listeners.set(topic, known.add(listener))
      return () => void known.delete(listener)
    },
    /** A notice may have been missed: a daemon died before it could send one. */
    onGap(listener: () => void) {
      gapListeners.add(listener)
      return () => void gapListeners.delete(listener)
    },
    hear(payload: string) {
      const notice = parseJson(payload, noticeSchema)
      if (!notice.ok || notice.value.from === daemonId) return
      for (const listener of [...(listeners.get(notice.value.topic) ?? [])]) listener(notice.value.data)
    },
    tellGap() {
      for (const listener of [...gapListeners]) listener()
    },
    flush,
  }
}
