import pg from 'pg'

/** Its connections may be ended together with their database, also while they are being closed: that is no error. */
export function openTestPool(options: pg.PoolConfig): pg.Pool {
  const pool = new pg.Pool(options)
  pool.on('error', () => undefined)
  pool.on('connect', (client) => client.on('error', () => undefined))
  return pool
}
