import { FamiliarError } from '../../protocol/error.ts'

// https://www.postgresql.org/docs/current/errcodes-appendix.html
const uniqueViolation = '23505'
const diskFull = '53100'
const serializationFailure = '40001'
const deadlock = '40P01'
/** A statement that was prepared before the tables were changed, or that the connection no longer knows. */
const stalePlan = ['0A000', '26000']

// Class 08, the server that ends or begins, and a transaction that it ended because nothing came any more.
const lostConnection =
  /^(08...|57P0[1235]|25P03|ECONN\w+|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH)$/
// What pg throws has no code.
const lostConnectionMessage =
  /^(Connection terminated|timeout exceeded when trying to connect|timeout expired|Client (has encountered a connection error|was closed))/
const tooManyConnections = '53300'

/** PostgreSQL refused the unit for another one's sake: the same unit may well succeed when it is run again. */
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

/** There is no connection, or none any more. */
export function isConnectionLost(error: unknown): boolean {
  const code = codeOf(error)
  if (code === undefined) return error instanceof Error && lostConnectionMessage.test(error.message)
  return lostConnection.test(code) || code === tooManyConnections || isMissingSocket(error)
}

/**
 * What PostgreSQL or the way to it threw, as a failure that callers can act on. What has no meaning to them passes
 * unchanged. `place` names the database without its password.
 */
export function toStorageError(cause: unknown, place: string): unknown {
  if (cause instanceof FamiliarError) return cause
  const code = codeOf(cause) ?? ''
  if (code === uniqueViolation) return new FamiliarError('conflict', 'This is stored already.', { cause })
  if (code === diskFull) {
    return new FamiliarError('storage_full', 'The disk is full. Nothing was lost; make room and try again.', {
      cause,
      retryAfterSeconds: 30,
    })
  }
  const advice = adviceFor(code)
  if (advice) return new FamiliarError('unavailable', `${place} ${advice}`, { cause })
  if (isConnectionLost(cause)) {
    return new FamiliarError('unavailable', `${place} cannot be reached (${messageOf(cause)}). ${isItRunning}`, {
      cause,
      retryAfterSeconds: 2,
    })
  }
  return cause
}

const isItRunning = 'Is it running, and is the host and port of the URL right?'

function adviceFor(code: string): string | undefined {
  switch (code) {
    case '28P01':
    case '28000':
      return 'refused the user or the password of the URL. Check both, and the server’s pg_hba.conf.'
    case '3D000':
      return 'does not exist. Make it first: createdb <name>'
    case '42501':
      return 'does not allow its user to do this. Let the user own the database, or grant it all rights on the schema.'
    case '25006':
      return 'is read-only: a standby, or a user that may only read. Point the URL at the primary server.'
    case '53300':
      return 'has no connection left. Raise max_connections there, or let each daemon open fewer.'
    case '53200':
      return 'has run out of memory.'
    default:
      return undefined
  }
}

function isMissingSocket(error: unknown): boolean {
  return codeOf(error) === 'ENOENT' && error instanceof Error && 'syscall' in error && error.syscall === 'connect'
}

function codeOf(error: unknown): string | undefined {
  // Node tries every address of a name, and tells of all of them.
  const one = error instanceof AggregateError ? error.errors[0] : error
  return one instanceof Error && 'code' in one && typeof one.code === 'string' ? one.code : undefined
}

function messageOf(error: unknown): string {
  const one = error instanceof AggregateError ? error.errors[0] : error
  return one instanceof Error ? one.message : String(one)
}
