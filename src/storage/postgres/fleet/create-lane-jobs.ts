import { type Runner, run, runMigrations } from 'graphile-worker'
import { sql } from 'kysely'
import type { Pool } from 'pg'
import type { Logger } from '../../../base/logger.ts'
import type { Database, Writer } from '../../database.ts'
import type { Lane, LaneJobs, LookWhen } from '../../lane-jobs.ts'
import { createLaneWorkers, type LaneWorkers } from './lane-workers.ts'
import { workerLogger } from './worker-logger.ts'

/** A look that fails is no reason to give the lane up; those who die while they look count as failures too. */
const mostAttempts = 32_767

/**
 * graphile-worker keeps one connection to hear of new jobs, which are told otherwise here. The other fetches and completes
 * them, one statement after another: so what is fetched after a completion sees the lane free.
 */
const connectionsOfKind = 2

/** What nobody was told of, a job of a later time above all, is found so late at most. */
const usualPollMs = 5_000
/** Each of the workers for itself, beside that. */
const workerPollMs = 60_000

/**
 * Lanes as queues of graphile-worker, which runs the jobs of one queue one after another. A lane that waits has one job,
 * by its key; one that is being looked at gets another behind it, since it may just have looked away.
 *
 * A job is looked at here where there is a place free, so that nobody else comes in vain; otherwise `tellOthers` is called,
 * and whoever hears it calls `hear`.
 *
 * `onWorkers` is told the names under which this daemon takes jobs: what is locked under them another daemon sets free
 * when this one dies.
 */
export async function createLaneJobs({
  openPool,
  database,
  logger,
  onWorkers,
  tellOthers,
  pollMs = usualPollMs,
}: {
  openPool(connections: number): Pool
  database: Pick<Database, 'write'>
  logger: Logger
  pollMs?: number
  onWorkers(names: readonly string[]): Promise<void>
  tellOthers(kind: string): void
}): Promise<LaneJobs & { hear(kind: string): void; lookAtAll(): void; forgetIdle(): Promise<void> }> {
  const shared = { logger: workerLogger(logger), noHandleSignals: true }
  const runners: Runner[] = []
  const names: string[] = []
  const workers = new Map<string, LaneWorkers>()
  let polling: NodeJS.Timeout | undefined
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

  /** Whether there is a place for it here. */
  function expectHere(kind: string): boolean {
    const own = workers.get(kind)
    if (!own?.hasPlace()) return false
    own.expectOne()
    return true
  }

  function hurry(kind: string): void {
    if (!expectHere(kind)) tellOthers(kind)
  }

  function lookAtAll(): void {
    for (const own of workers.values()) own.lookOnce()
  }

  return {
    askIn,
    async ask(lane, when) {
      await database.write((writer) => askIn(writer, lane, when), { meets: 'rows' })
      if (when?.notBefore === undefined) hurry(lane.kind)
    },
    hurry,
    hear: (kind) => void expectHere(kind),
    lookAtAll,
    async work(kind, { atOnce, look }) {
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
    async drain() {
      clearInterval(polling)
      for (const own of workers.values()) own.stop()
      workers.clear()
      await Promise.all(runners.splice(0).map((runner) => runner.stop()))
    },
    /**
     * Whoever fetches a job locks every queue that is free, so those of lanes where nothing is to be done have to go. While
     * nobody asks: who does in that moment would be left with a job that has no queue. Where somebody is slow to let go
     * of the queues it is left for another time, since all others would have to wait behind it.
     */
    async forgetIdle() {
      const forgotten = database.write(async (writer) => {
        await sql`set local lock_timeout = '200ms'`.execute(writer)
        // The first statement that reads comes after it, and so sees whatever was asked for before.
        await sql`lock table graphile_worker._private_job_queues in share row exclusive mode`.execute(writer)
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
