import pg from 'pg'
import { FamiliarError } from '../../protocol/error.ts'

export interface ConnectionPool {
  readonly raw: pg.Pool
  /** A connection for as long as `task` runs. One on which it failed is not given to anybody else. */
  use<T>(task: (client: pg.PoolClient) => Promise<T>): Promise<T>
  /** Refuses new tasks, waits for those that were taken, and lets go of the connections. */
  end(): Promise<void>
}

/** Connections are made when they are needed, and lost ones replaced. */
export function createConnectionPool(options: {
  url: string
  max: number
  /** Statements for each new connection. */
  settings: readonly string[]
  onLost: (error: Error) => void
}): ConnectionPool {
  const { url, max, settings, onLost } = options
  const taken = new Set<Promise<unknown>>()
  let isClosed = false
  const raw = new pg.Pool({
    connectionString: url,
    max,
    connectionTimeoutMillis: 10_000,
    idleTimeoutMillis: 60_000,
    // What the server keeps for a connection (plans, caches) would grow for ever.
    maxLifetimeSeconds: 3600,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    fallback_application_name: 'familiar',
    onConnect: async (client) => {
      await client.query(settings.join(';'))
    },
  })
  // Of one that is being closed, too, which the pool has let go of: without a listener its error would end the process.
  raw.on('connect', (client) => client.on('error', () => undefined))
  // The pool has taken it out already; whoever asks next gets another.
  raw.on('error', onLost)

  async function run<T>(task: (client: pg.PoolClient) => Promise<T>): Promise<T> {
    const client = await raw.connect()
    // While nobody waits for a statement, a lost connection is told by this event only; the next statement says it again.
    const ignore = () => {}
    client.on('error', ignore)
    let isSound = false
    try {
      const result = await task(client)
      isSound = true
      return result
    } finally {
      client.off('error', ignore)
      client.release(!isSound)
    }
  }

  return {
    raw,
    async use(task) {
      if (isClosed) throw new FamiliarError('unavailable', 'The database is closed.')
      const result = run(task)
      taken.add(result)
      try {
        return await result
      } finally {
        taken.delete(result)
      }
    },
    async end() {
      isClosed = true
      // The pool would leave those that wait for a connection to their timeout.
      await Promise.allSettled(taken)
      await raw.end()
    },
  }
}
