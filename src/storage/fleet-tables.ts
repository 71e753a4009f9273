/** Which daemons share the database, and who of them runs the turns of which session. */
export interface FleetTables {
  daemons: DaemonRow
  session_holders: SessionHolderRow
}

interface DaemonRow {
  id: string
  role: 'api' | 'worker' | 'all'
  /** Of the advisory lock that it holds for as long as it lives. */
  lock_key: number
  /** JSON: the names under which it takes jobs. */
  workers: string
  started_at: number
}

interface SessionHolderRow {
  session_id: string
  daemon_id: string
}
