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
 * Lanes as queues of graphile-worker, which runs the jobs of one queue one after another. A lane that waits has one job,
 * by its key; one that is being looked at gets another behind it, since it may just have looked away.
 *
 * `onWorkers` is told the names under which this daemon takes jobs: what is locked under them another daemon sets free
 * when this one dies.
 */
export async function createLaneJobs({
  pool,
  database,
  logger,
  onWorkers,
}: {
  pool: Pool
  database: Pick<Database, 'write'>
  logger: Logger
  onWorkers(names: readonly string[]): Promise<void>
}): Promise<LaneJobs> {
  const shared = { pgPool: pool, logger: workerLogger(logger), noHandleSignals: true }
  await runMigrations(shared)
  const runners: Runner[] = []
  const names: string[] = []
  const events: WorkerEvents = new EventEmitter()
  events.on('pool:create', ({ workerPool }) => names.push(workerPool.id))

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

  return {
    askIn,
    ask: (lane, when) => database.write((writer) => askIn(writer, lane, when)),
    async work(kind, { atOnce, look }) {
      const runner = await run({
        ...shared,
        events,
        concurrency: atOnce,
        taskList: { [kind]: (payload) => look((payload as { id: string }).id) },
      })
      runner.promise.catch((cause) => logger.error('workers stopped', { kind, error: String(cause) }))
      runners.push(runner)
      await onWorkers(names)
    },
    async drain() {
      await Promise.all(runners.splice(0).map((runner) => runner.stop()))
    },
  }
}
