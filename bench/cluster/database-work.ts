import { readdirSync, readFileSync } from 'node:fs'
import pg from 'pg'
import type { RunningPostgres } from '../../test/support/postgres/start-postgres.ts'

/** The counters of a database server. */
export interface DatabaseWork {
  /** Of all its processes, those that have ended among them. */
  processorMs: number
  commits: number
  /** Units that had to be run again are among them. */
  rollbacks: number
  walBytes: number
  /** The size of its tables and indexes. */
  storedBytes: number
}

export async function readDatabaseWork(server: RunningPostgres, database: string): Promise<DatabaseWork> {
  const client = new pg.Client({ connectionString: server.urlOf(database) })
  await client.connect()
  try {
    // The server counts the work of a connection only after it has been idle for a moment.
    await client.query('select pg_stat_force_next_flush(), pg_sleep(1.2)').catch(() => undefined)
    const { rows } = await client.query(
      `select xact_commit::float as commits, xact_rollback::float as rollbacks,
         pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float as wal,
         pg_database_size(current_database())::float as stored
       from pg_stat_database where datname = current_database()`,
    )
    const [row] = rows as { commits: number; rollbacks: number; wal: number; stored: number }[]
    return {
      processorMs: processorMsOf(server.pid()),
      commits: row?.commits ?? 0,
      rollbacks: row?.rollbacks ?? 0,
      walBytes: row?.wal ?? 0,
      storedBytes: row?.stored ?? 0,
    }
  } finally {
    await client.end()
  }
}

/** The server and its children, with what those that have ended took. */
function processorMsOf(server: number): number {
  const fields = (pid: number) => {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return stat
      .slice(stat.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number)
  }
  const own = fields(server)
  let ticks = (own[11] ?? 0) + (own[12] ?? 0) + (own[13] ?? 0) + (own[14] ?? 0)
  for (const name of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    try {
      const child = fields(Number(name))
      if (child[1] === server) ticks += (child[11] ?? 0) + (child[12] ?? 0)
    } catch {
      // It has ended meanwhile.
    }
  }
  return ticks * 10
}
