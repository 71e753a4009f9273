import { randomInt } from 'node:crypto'
import { sql } from 'kysely'
import type { Client, Pool } from 'pg'
import { z } from 'zod'
import { parseJson } from '../base/json.ts'
import type { Database, Reader, Writer } from '../storage/database.ts'
import type { DaemonRole } from './fleet.ts'

/** The advisory lock of the leader. Any number that nothing else uses. */
const leaderKey = 7_236_482_001

/** Locked this long without a living owner: the daemon died before it could register its name. */
const unclaimedSeconds = 5
const looksUntilAbandoned = 5

/**
 * The living daemons. A daemon holds an advisory lock on its connection, and PostgreSQL releases it at the moment the
 * connection breaks: there is no heartbeat to wait for.
 */
export function createPresence(database: Pick<Database, 'read' | 'write'>, pool: Pick<Pool, 'query'>) {
  let leads = false
  let looks = 0

  return {
    /** Takes the lock on the line, then writes the record. */
    async enter(line: Client, { id, role, now }: { id: string; role: DaemonRole; now: number }) {
      const lockKey = randomInt(1, 2 ** 47)
      await line.query('select pg_advisory_lock($1)', [lockKey])
      const row = { id, role, lock_key: lockKey, workers: '[]', started_at: now }
      await database.write((writer) => writer.insertInto('daemons').values(row).execute())
    },
    async nameWorkers(daemonId: string, workers: readonly string[]) {
      await database.write((writer) =>
        writer
          .updateTable('daemons')
          .set({ workers: JSON.stringify(workers) })
          .where('id', '=', daemonId)
          .execute(),
      )
    },
    async leave(daemonId: string) {
      await database.write((writer) => writer.deleteFrom('daemons').where('id', '=', daemonId).execute())
    },
    /** True where the line holds the lock of the one who leads, from now on or from before. */
    async tryToLead(line: Client) {
      if (leads) return true
      const tried = await line.query<{ leads: boolean }>('select pg_try_advisory_lock($1) as leads', [leaderKey])
      leads = tried.rows[0]?.leads ?? false
      return leads
    },
    /** Removes the dead daemons and unlocks their jobs. Returns the number of jobs and daemons. */
    async bury() {
      const found = await sql<{ id: string }>`select id from daemons where not ${holdsItsLock}`.execute(database.read)
      const dead = found.rows.map(({ id }) => id)
      // Only those that no other daemon has removed meanwhile.
      const takeOut = (writer: Writer) =>
        writer.deleteFrom('daemons').where('id', 'in', dead).returning('workers').execute()
      const buried = dead.length > 0 ? await database.write(takeOut) : []
      // Jobs that stayed unclaimed for seconds need no check every second.
      looks += 1
      const abandoned = looks % looksUntilAbandoned === 0 ? await findAbandoned(database.read) : []
      const workers = [...buried.flatMap(workersOf), ...abandoned]
      if (workers.length > 0) {
        await pool.query('select graphile_worker.force_unlock_workers($1::text[])', [workers])
      }
      return { daemons: buried.length, workers: workers.length }
    },
  }
}

function workersOf({ workers }: { workers: string }): string[] {
  const read = parseJson(workers, z.array(z.string()))
  return read.ok ? read.value : []
}

/** Of a row of `daemons`. */
const holdsItsLock = sql<boolean>`exists (
  select 1 from pg_locks
  where locktype = 'advisory' and granted and objsubid = 1
    and database = (select oid from pg_database where datname = current_database())
    and (classid::bigint << 32) + objid::bigint = daemons.lock_key
)`

export async function countLiving(read: Reader): Promise<number> {
  const { rows } = await sql<{ living: number }>`
    select count(*) as living from daemons where ${holdsItsLock}`.execute(read)
  return rows[0]?.living ?? 0
}

/** Names under which jobs are locked and which no daemon has. */
async function findAbandoned(read: Reader): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    select locked_by as name from (
      select locked_by, locked_at from graphile_worker._private_jobs where locked_by is not null
      union all
      select locked_by, locked_at from graphile_worker._private_job_queues where locked_by is not null
    ) as locks
    where not exists (
      select 1 from daemons, json_array_elements_text(daemons.workers::json) as worker(name)
      where worker.name = locks.locked_by
    )
    group by locked_by
    having max(locked_at) < now() - make_interval(secs => ${unclaimedSeconds}::double precision)`.execute(read)
  return rows.map(({ name }) => name)
}
