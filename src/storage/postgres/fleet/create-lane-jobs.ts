import { EventEmitter } from 'node:events'
import { type Runner, run, runMigrations, type WorkerEvents } from 'graphile-worker'
import { sql } from 'kysely'
import type { Pool } from 'pg'
import type { Logger } from '../../../base/logger.ts'
import type { Database, Writer } from '../../database.ts'
import type { Lane, LaneJobs, LookWhen } from '../../lane-jobs.ts'
import { workerLogger } from './worker-logger.ts'

/** A look that fails is no reason to give the lane up; those who die while they look count as failures too. */
const mostAttempts = 32_767

/**
 * One connection hears of new jobs. The other fetches and completes them, one statement after another: so what is fetched
 * after a completion sees the lane free.
 */
const connectionsOfKind = 2

/** Jobs that may wait here for a place while another daemon has one free, and for how long. */
const mostTakenAhead = 4
const takenAheadMs = 500

/** Every daemon hears of every job. One who came in vain stays away so long: somebody else was there first. */
const inVainMs = 100
/** As graphile-worker itself tells of a new job. */
const tellOfJobs = `select pg_notify('jobs:insert', '{"count":1}')`
/** What nobody was told of, a job of a later time above all, is found so late at most. */
const usualPollMs = 5_000

/**
 * Lanes as queues of graphile-worker, which runs the jobs of one queue one after another. A lane that waits has one job,
 * by its key; one that is being looked at gets another behind it, since it may just have looked away.
 *
 * `onWorkers` is told the names under which this daemon takes jobs: what is locked under them another daemon sets free
 * when this one dies.
 */
export async function createLaneJobs({
  openPool,
  database,
  logger,
  onWorkers,
  pollMs = usualPollMs,
}: {
  openPool(connections: number): Pool
  database: Pick<Database, 'write'>
  logger: Logger
  pollMs?: number
  onWorkers(names: readonly string[]): Promise<void>
}): Promise<LaneJobs & { forgetIdle(): Promise<void> }> {
  const shared = { logger: workerLogger(logger), noHandleSignals: true }
  const runners: Runner[] = []
  const names: string[] = []
  const hurries = new Map<string, () => void>()
  const firstPool = openPool(connectionsOfKind)
  await runMigrations({ ...shared, pgPool: firstPool })
  const pools = [firstPool]

  async function askIn(writer: Writer, { kind, id }: Lane, { notBefore }: LookWhen = {}): Promise<void> {
    const lane = `${kind}:${id}`
    const runAt = notBefore === undefined ? new Date() : new Date(notBefore)
    const mode = notBefore === undefined ? 'replace' : 'preserve_run_at'
    await sql`
      select graphile_worker.add_job(
        ${kind}::text, payload => ${JSON.stringify({ id })}::json, queue_name => ${id}::text,
        run_at => ${runAt.toISOString()}::timestamptz, max_attempts => ${mostAttempts}::integer,
        job_key => ${lane}::text, job_key_mode => ${mode}::text)`.execute(writer)
  }

  function hurry(kind?: string): void {
    for (const [of, hurryOne] of hurries) if (kind === undefined || of === kind) hurryOne()
  }

  /** Whoever looks for jobs of the kind is made to look at once, also where it has just come in vain. */
  function followWorkers(kind: string, pool: Pool): WorkerEvents {
    const events: WorkerEvents = new EventEmitter()
    events.on('pool:create', ({ workerPool }) => {
      names.push(workerPool.id)
      const hurryOne = () => workerPool.nudge(Number.MAX_SAFE_INTEGER)
      hurries.set(kind, hurryOne)
      // The lane may have been asked for again while it was looked at; nobody is told when it is free.
      events.on('job:complete', hurryOne)
    })
    // What it is told while it looks, or stays away, graphile-worker only counts: it would be found at the next poll.
    let wasTold = false
    events.on('pool:listen:notification', () => {
      wasTold = true
    })
    events.on('localQueue:refetchDelay:expired', () => {
      if (wasTold) setImmediate(() => hurries.get(kind)?.())
      wasTold = false
    })
    // Given back it waits for whoever has a place free, and nobody is told. The one connection that gives it back tells
    // afterwards.
    events.on('localQueue:returnJobs', () => {
      setImmediate(() =>
        pool
          .query(tellOfJobs)
          .catch((cause) =>
            logger.warn('nobody was told of jobs that were given back', { kind, error: String(cause) }),
          ),
      )
    })
    return events
  }

  return {
    askIn,
    async ask(lane, when) {
      await database.write((writer) => askIn(writer, lane, when))
      if (when?.notBefore === undefined) hurry(lane.kind)
    },
    hurry,
    async work(kind, { atOnce, look }) {
      const pool = pools.pop() ?? openPool(connectionsOfKind)
      const runner = await run({
        ...shared,
        pgPool: pool,
        events: followWorkers(kind, pool),
        preset: {
          worker: {
            concurrentJobs: atOnce,
            pollInterval: pollMs,
            localQueue: {
              size: Math.min(atOnce, mostTakenAhead),
              ttl: takenAheadMs,
              refetchDelay: { durationMs: inVainMs, threshold: 0, maxAbortThreshold: 1_000 },
            },
          },
        },
        taskList: { [kind]: (payload) => look((payload as { id: string }).id) },
      })
      runner.promise.catch((cause) => logger.error('workers stopped', { kind, error: String(cause) }))
      runners.push(runner)
      await onWorkers(names)
    },
    async drain() {
      hurries.clear()
      await Promise.all(runners.splice(0).map((runner) => runner.stop()))
    },
    /**
     * Whoever fetches a job locks every queue that is free, so those of lanes where nothing is to be done have to go. As a
     * unit of writing: one that asks for such a lane in this moment would otherwise be left with a job that has no queue.
     */
    async forgetIdle() {
      await database.write((writer) =>
        sql`
          delete from graphile_worker._private_job_queues as queue
          where locked_at is null and not exists (
            select 1 from graphile_worker._private_jobs as job where job.job_queue_id = queue.id
          )`.execute(writer),
      )
    },
  }
}
