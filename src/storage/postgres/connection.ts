import {
  type ColumnDefinitionNode,
  type CompiledQuery,
  DataTypeNode,
  HandleEmptyInListsPlugin,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryResult,
  RawNode,
  replaceWithNoncontingentExpression,
} from 'kysely'
import pg from 'pg'
import type { Logger } from '../../base/logger.ts'
import { FamiliarError } from '../../protocol/errors.ts'
import { createEngine } from '../database.ts'

/** A name for a statement that is used repeatedly; undefined for others. */
export type NameStatement = (sql: string) => string | undefined

/**
 * A named statement is parsed once per connection. Names are given by observed use: lists of changing length (`in ($1,
 * $2, …)`) seldom repeat, and would fill the memory of every connection on the server.
 */
export function createStatementNames({ usesUntilNamed = 4, limit = 512 } = {}): NameStatement {
  const known = new Map<string, { uses: number; name: string }>()
  let count = 0

  return (sql) => {
    const statement = known.get(sql) ?? { uses: 0, name: '' }
    statement.uses += 1
    if (statement.uses === usesUntilNamed) {
      count += 1
      statement.name = `familiar_${count}`
    }
    // Moves it to the end of the map, so that used statements stay.
    known.delete(sql)
    known.set(sql, statement)
    if (known.size > limit) known.delete(known.keys().next().value ?? '')
    return statement.name || undefined
  }
}

export type ConnectionPool = ReturnType<typeof createConnectionPool>

/** Work that a closing database waits for. */
export function createTaken() {
  const taken = new Set<Promise<unknown>>()
  let isClosed = false
  return {
    async take<T>(task: () => Promise<T>): Promise<T> {
      if (isClosed) throw new FamiliarError('unavailable', 'The database is closed.')
      const result = task()
      taken.add(result)
      try {
        return await result
      } finally {
        taken.delete(result)
      }
    },
    /** Rejects new work and resolves when the running work is settled. */
    async close(): Promise<void> {
      isClosed = true
      await Promise.allSettled(taken)
    },
  }
}

/** Opens connections on demand and replaces lost ones. */
function createConnectionPool(options: {
  url: string
  max: number
  /** Statements to run on each new connection. */
  settings: readonly string[]
  onLost: (error: Error) => void
}) {
  const { url, max, settings, onLost } = options
  const { take, close } = createTaken()
  const raw = new pg.Pool({
    connectionString: url,
    max,
    connectionTimeoutMillis: 10_000,
    idleTimeoutMillis: 60_000,
    // Without a limit, the plans and caches that the server keeps per connection would grow without end.
    maxLifetimeSeconds: 3600,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    fallback_application_name: 'familiar',
    onConnect: async (client) => {
      await client.query(settings.join(';'))
    },
  })
  // Also for connections that the pool has already released: without a listener, their error would end the process.
  raw.on('connect', (client) => client.on('error', () => undefined))
  // The pool has already removed it; the next caller gets another one.
  raw.on('error', onLost)

  async function run<T>(task: (client: pg.PoolClient) => Promise<T>): Promise<T> {
    const client = await raw.connect()
    // While no statement is running, a lost connection is reported only by this event; the next statement reports it
    // again.
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
    /** Provides a connection while `task` runs. A connection on which it failed is not reused. */
    use: <T>(task: (client: pg.PoolClient) => Promise<T>) => take(() => run(task)),
    /** Rejects new tasks, waits for the running ones, and closes the connections. */
    async end() {
      // Otherwise the pool would let waiting tasks run into their timeout.
      await close()
      await raw.end()
    },
  }
}

// PostgreSQL cannot store U+0000. It is written as two U+0001, and U+0001 is escaped as well, so every text reads back
// unchanged and byte order is preserved.
const nullCharacter = String.fromCharCode(0)
const marker = String.fromCharCode(1)
const writtenNull = marker + marker
const writtenMarker = marker + String.fromCharCode(2)
const writtenPair = new RegExp(`${writtenNull}|${writtenMarker}`, 'g')

export function escapeNulls(text: string): string {
  if (!text.includes(nullCharacter) && !text.includes(marker)) return text
  return text.replaceAll(marker, writtenMarker).replaceAll(nullCharacter, writtenNull)
}

export function unescapeNulls(text: string): string {
  if (!text.includes(marker)) return text
  // Text written by another program is returned unchanged.
  return text.replaceAll(writtenPair, (pair) => (pair === writtenNull ? nullCharacter : marker))
}

/** Maps the migrations' types to those that behave as in SQLite. */
const columnTypes: Record<string, string> = {
  text: 'text collate "C"',
  integer: 'bigint',
  blob: 'bytea',
}

class Compiler extends PostgresQueryCompiler {
  protected override visitColumnDefinition(node: ColumnDefinitionNode): void {
    const { dataType } = node
    const other = DataTypeNode.is(dataType) ? columnTypes[dataType.dataType as string] : undefined
    super.visitColumnDefinition(other ? { ...node, dataType: RawNode.createWithSql(other) } : node)
  }
}

export const { createKysely, createTransaction } = createEngine({
  adapter: new PostgresAdapter(),
  compiler: new Compiler(),
  introspect: (db) => new PostgresIntrospector(db),
  // PostgreSQL rejects an empty list.
  plugins: [new HandleEmptyInListsPlugin({ strategy: replaceWithNoncontingentExpression })],
})

// https://www.postgresql.org/docs/current/errcodes-appendix.html
const uniqueViolation = '23505'
const diskFull = '53100'
const serializationFailure = '40001'
const deadlock = '40P01'
/** A statement that was prepared before the tables changed, or that the connection no longer knows. */
const stalePlan = ['0A000', '26000']

// Class 08, a server that is shutting down or starting, and a transaction that it ended because of inactivity.
const lostConnection =
  /^(08...|57P0[1235]|25P03|ECONN\w+|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH)$/
// Errors thrown by pg itself have no code.
const lostConnectionMessage =
  /^(Connection terminated|timeout exceeded when trying to connect|timeout expired|Client (has encountered a connection error|was closed))/
const tooManyConnections = '53300'

/** PostgreSQL rejected the unit because of a concurrent one: it may succeed when it is run again. */
export function isRefusal(error: unknown): boolean {
  const code = codeOf(error)
  return code === serializationFailure || code === deadlock || isStalePlan(error)
}

export function isStalePlan(error: unknown): boolean {
  return stalePlan.includes(codeOf(error) ?? '') && /cached plan|prepared statement/.test(messageOf(error))
}

export function isDuplicate(error: unknown): boolean {
  return codeOf(error) === uniqueViolation
}

/** The connection could not be made, or was lost. */
export function isConnectionLost(error: unknown): boolean {
  const code = codeOf(error)
  if (code === undefined) return error instanceof Error && lostConnectionMessage.test(error.message)
  return lostConnection.test(code) || code === tooManyConnections || isMissingSocket(error)
}

/**
 * Converts an error of PostgreSQL or the connection to one that callers can act on. Others pass unchanged. `place`
 * names the database without its password.
 */
export function toStorageError(cause: unknown, place: string): unknown {
  if (cause instanceof FamiliarError) return cause
  const code = codeOf(cause) ?? ''
  if (code === uniqueViolation) return new FamiliarError('conflict', 'This already exists.', { cause })
  if (code === diskFull) {
    return new FamiliarError('storage_full', 'The disk is full. Nothing was lost. Free some space and try again.', {
      cause,
      retryAfterSeconds: 30,
    })
  }
  const advice = adviceByCode[code]
  if (advice) return new FamiliarError('unavailable', `${place} ${advice}`, { cause })
  if (isConnectionLost(cause)) {
    return new FamiliarError('unavailable', `${place} cannot be reached (${messageOf(cause)}). ${isItRunning}`, {
      cause,
      retryAfterSeconds: 2,
    })
  }
  return cause
}

const isItRunning = 'Check that it is running and that the URL has the right host and port.'

const wrongPassword = 'rejected the user or password in the URL. Check both, and the server’s pg_hba.conf.'

const adviceByCode: Readonly<Record<string, string>> = {
  '28P01': wrongPassword,
  '28000': wrongPassword,
  '3D000': 'does not exist. Create it first: createdb <name>',
  '42501':
    'does not permit its user to do this. Make the user the owner of the database, or grant it all rights on the schema.',
  '25006': 'is read-only: it is a standby, or its user may only read. Use the URL of the primary server.',
  '53300': 'has no free connections. Raise max_connections there, or lower the number of connections per daemon.',
  '53200': 'is out of memory.',
}

function isMissingSocket(error: unknown): boolean {
  return codeOf(error) === 'ENOENT' && error instanceof Error && 'syscall' in error && error.syscall === 'connect'
}

function codeOf(error: unknown): string | undefined {
  // Node tries every address of a name and reports all failures.
  const one = error instanceof AggregateError ? error.errors[0] : error
  return one instanceof Error && 'code' in one && typeof one.code === 'string' ? one.code : undefined
}

function messageOf(error: unknown): string {
  const one = error instanceof AggregateError ? error.errors[0] : error
  return one instanceof Error ? one.message : String(one)
}

export type PostgresPools = ReturnType<typeof createPostgresPools>

export function createPostgresPools(options: {
  url: string
  /** For both pools together. */
  size: number
  log?: Pick<Logger, 'warn'> | undefined
}) {
  const { url, size, log } = options
  const place = nameOf(url)
  const onLost = (error: Error) => log?.warn('lost a connection to the database', { reason: error.message })
  const reads = Math.max(1, Math.floor(size / 2))
  const readOnly = [...settings, 'set default_transaction_read_only = on']
  const reading = createConnectionPool({ url, max: reads, settings: readOnly, onLost })
  const writing = createConnectionPool({ url, max: Math.max(1, size - reads), settings, onLost })
  return {
    /** For write units, jobs and notices. */
    writing,
    /** Read-only connections. */
    reading,
    /** The database's name without user and password. */
    place,
    async end() {
      await Promise.all([reading.end(), writing.end()])
    },
  }
}

const settings = [
  // A process that is suspended in the middle of a unit must not hold its locks indefinitely.
  `set idle_in_transaction_session_timeout = '30s'`,
  // Acknowledged data is durable even if the server's default says otherwise.
  `select set_config('synchronous_commit', 'on', false) where current_setting('synchronous_commit') = 'off'`,
]

function nameOf(url: string): string {
  if (!URL.canParse(url)) throw new FamiliarError('bad_request', 'The database URL is not valid.')
  const { protocol, host, pathname, searchParams } = new URL(url)
  if (!['postgres:', 'postgresql:'].includes(protocol)) {
    throw new FamiliarError('bad_request', 'The database URL must start with postgres://')
  }
  return `The PostgreSQL database ${pathname.slice(1)} at ${searchParams.get('host') ?? host}`
}

type ReadValue = (text: string) => unknown

const builtin = pg.types.builtins
const textArray = 1009
const readTextArray = pg.types.getTypeParser(textArray as never) as ReadValue
const readBytes = pg.types.getTypeParser(builtin.BYTEA) as (text: string) => Uint8Array

const readers = new Map<number, ReadValue>([
  [builtin.TEXT, unescapeNulls],
  [builtin.VARCHAR, unescapeNulls],
  [textArray, (text) => unescapeAll(readTextArray(text))],
  [builtin.INT8, readNumber],
  [builtin.NUMERIC, Number],
  // Copied: a view into a shared buffer may start anywhere, and vectors need an offset that is a multiple of four.
  [builtin.BYTEA, (text) => new Uint8Array(readBytes(text))],
])

/** Returns values as SQLite does: numbers, text and bytes. */
export const readValues: pg.CustomTypesConfig = {
  getTypeParser: ((type: number, format?: 'text' | 'binary') =>
    (format !== 'binary' && readers.get(type)) || pg.types.getTypeParser(type, format as 'text')) as never,
}

/** Converts a value for PostgreSQL. It rejects whatever SQLite rejects. */
function toParameter(value: unknown, redact?: (text: string) => string): unknown {
  if (typeof value === 'string') return escapeNulls(redact ? redact(value) : value)
  if (Array.isArray(value)) return value.map((item) => toParameter(item, redact))
  if (value === undefined || typeof value === 'boolean')
    throw new TypeError(`A value of type ${typeof value} cannot be stored.`)
  return value
}

function readNumber(text: string): number {
  const number = Number(text)
  if (!Number.isSafeInteger(number)) throw new RangeError(`${text} is too large for a number.`)
  return number
}

function unescapeAll(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(unescapeAll)
  return typeof value === 'string' ? unescapeNulls(value) : value
}

/** How statements reach a connection: statement names and redaction. */
export interface Wiring {
  nameStatement: NameStatement
  /** Removes secrets from every text that is bound to a statement: all writes pass here (SEC-13). */
  redact?: ((text: string) => string) | undefined
}

const writingCommands = ['INSERT', 'UPDATE', 'DELETE', 'MERGE']

/** Runs one statement on one connection. Rejects with the original error. */
export async function runStatement(
  client: pg.ClientBase,
  { sql, parameters }: Pick<CompiledQuery, 'sql' | 'parameters'>,
  { nameStatement, redact }: Wiring,
): Promise<QueryResult<unknown>> {
  const result = await client.query({
    name: nameStatement(sql),
    text: sql,
    values: parameters.map((value) => toParameter(value, redact)),
    types: readValues,
  } as pg.QueryConfig)
  if (!writingCommands.includes(result.command)) return { rows: result.rows }
  return { rows: result.rows, numAffectedRows: BigInt(result.rowCount ?? 0) }
}
