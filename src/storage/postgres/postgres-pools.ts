import type { Logger } from '../../base/logger.ts'
import { FamiliarError } from '../../protocol/error.ts'
import { type ConnectionPool, createConnectionPool } from './connection-pool.ts'

export interface PostgresPools {
  /** For units, jobs and notices. */
  readonly writing: ConnectionPool
  /** Refuses to write. */
  readonly reading: ConnectionPool
  /** Names the database without its user and password. */
  readonly place: string
  end(): Promise<void>
}

export function createPostgresPools(options: {
  url: string
  /** Of both together. */
  size: number
  log?: Pick<Logger, 'warn'> | undefined
}): PostgresPools {
  const { url, size, log } = options
  const place = nameOf(url)
  const onLost = (error: Error) => log?.warn('lost a connection to the database', { reason: error.message })
  const reads = Math.max(1, Math.floor(size / 2))
  const readOnly = [...settings, 'set default_transaction_read_only = on']
  const reading = createConnectionPool({ url, max: reads, settings: readOnly, onLost })
  const writing = createConnectionPool({ url, max: Math.max(1, size - reads), settings, onLost })
  return {
    writing,
    reading,
    place,
    async end() {
      await Promise.all([reading.end(), writing.end()])
    },
  }
}

const settings = [
  // A process that is stopped in the middle of a unit must not hold its locks for ever.
  `set idle_in_transaction_session_timeout = '30s'`,
  // What was acknowledged is durable, whatever the server's own default says.
  `select set_config('synchronous_commit', 'on', false) where current_setting('synchronous_commit') = 'off'`,
]

function nameOf(url: string): string {
  if (!URL.canParse(url)) throw new FamiliarError('bad_request', 'The URL of the database is not one.')
  const { protocol, host, pathname, searchParams } = new URL(url)
  if (!['postgres:', 'postgresql:'].includes(protocol)) {
    throw new FamiliarError('bad_request', 'The URL of the database must begin with postgres://')
  }
  return `The PostgreSQL database ${pathname.slice(1)} at ${searchParams.get('host') ?? host}`
}
