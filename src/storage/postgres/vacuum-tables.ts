import type { ConnectionPool } from './connection-pool.ts'

/**
 * Gives the room of deleted rows back, so that no query and no dump can find them. Others read and write meanwhile.
 *
 * It is not what SQLite can promise: until the room is used again its bytes are in the server's files, and the write-ahead
 * log, its archive, replicas and backups keep what they took. Whoever runs the server decides how long.
 */
export async function vacuumTables(pool: ConnectionPool, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted()
  await pool.use(async (client) => {
    const { rows } = await client.query<{ name: string }>(`
      select quote_ident(relname) as name from pg_class
      where relnamespace = current_schema()::regnamespace and relkind = 'r'
        and pg_get_userbyid(relowner) = current_user and pg_stat_get_dead_tuples(oid) > 0`)
    for (const { name } of rows) {
      signal?.throwIfAborted()
      await client.query(`vacuum ${name}`)
    }
  })
}
