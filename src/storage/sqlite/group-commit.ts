import { setImmediate } from 'node:timers'
import { FamiliarError } from '../../protocol/errors.ts'
import type { Writer } from '../database.ts'
import type { Tables } from '../tables.ts'
import { createTransaction, type SqliteConnection } from './connection.ts'

// Imported from the module, so that tests with fake timers do not block commits.

interface Waiting {
  resolve(value: unknown): void
  reject(error: unknown): void
}

interface Entry extends Waiting {
  unit: (writer: Writer) => Promise<unknown>
  value: unknown
}

interface Task extends Waiting {
  task: () => Promise<unknown>
}

/**
 * One transaction for all units that arrive in the same turn of the event loop.
 *
 * A unit starts immediately. Its transaction is committed at the end of the turn (`setImmediate`, about 2 µs later when
 * idle), so all writes of that turn share one fsync. The first unit of a transaction needs no savepoint: if it fails,
 * there is nothing else to keep.
 */
export function createGroupCommit(options: {
  connection: SqliteConnection
  unitsPerCommit?: number
  onCommit?: () => void
}) {
  const { connection, unitsPerCommit = 128, onCommit } = options
  const waiting: (Entry | Task)[] = []
  /** Units that ran inside the open transaction and wait for its commit. */
  let finished: Entry[] = []
  let running: ReturnType<typeof startUnit> | undefined
  let working = false
  let turnAwaited = false
  let taskRuns = false
  let onClosed: (() => void) | undefined

  async function runWaiting(): Promise<void> {
    working = true
    for (let entry = waiting.shift(); entry; entry = waiting.shift()) {
      if ('task' in entry) await runAlone(entry)
      else await run(entry)
      if (finished.length >= unitsPerCommit) commit()
    }
    working = false
  }

  async function runAlone({ task, resolve, reject }: Task): Promise<void> {
    if (finished.length > 0) commit()
    taskRuns = true
    await task().then(resolve, reject)
    taskRuns = false
    awaitTurn()
  }

  async function run(entry: Entry): Promise<void> {
    const first = finished.length === 0
    try {
      connection.execute(first ? begin : savepoint)
    } catch (error) {
      // The others would have shared this transaction; trying each again could block for the busy timeout each time.
      for (const refused of [entry, ...waiting.splice(0)]) refused.reject(error)
      return
    }
    awaitTurn()
    try {
      running = startUnit(connection, entry.unit)
      entry.value = await running.settled
      if (!connection.raw.isTransaction) throw new Error('The transaction ended inside a unit of writing.')
      if (!first) connection.execute(release)
      finished.push(entry)
    } catch (error) {
      undo(first, error)
      entry.reject(error)
    } finally {
      running = undefined
    }
  }

  function undo(first: boolean, error: unknown): void {
    if (!first && connection.raw.isTransaction && attempt(rollbackToSavepoint) && attempt(release)) return
    if (connection.raw.isTransaction) attempt(rollback)
    // On a full disk or an I/O error SQLite rolls back everything, including earlier units.
    for (const lost of finished.splice(0)) lost.reject(error)
  }

  function commit(): void {
    const batch = finished
    finished = []
    try {
      connection.execute(commitStatement)
    } catch (error) {
      if (connection.raw.isTransaction) attempt(rollback)
      for (const entry of batch) entry.reject(error)
      return
    }
    onCommit?.()
    for (const entry of batch) entry.resolve(entry.value)
  }

  function attempt(statement: typeof rollback): boolean {
    try {
      connection.execute(statement)
      return true
    } catch {
      return false
    }
  }

  function awaitTurn(): void {
    if (turnAwaited) return
    turnAwaited = true
    setImmediate(() => {
      turnAwaited = false
      // There is nothing to commit until it ends, and checking at every turn would use a whole CPU.
      if (taskRuns) return
      running?.noteTurn()
      if (working) return awaitTurn()
      if (finished.length > 0) commit()
      onClosed?.()
    })
  }

  function enqueue<T>(work: Pick<Entry, 'unit' | 'value'> | Pick<Task, 'task'>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (onClosed) return reject(new FamiliarError('unavailable', 'The database is closed.'))
      waiting.push({ ...work, resolve: resolve as (value: unknown) => void, reject })
      if (!working) void runWaiting()
    })
  }

  return {
    write: <T>(unit: (writer: Writer) => Promise<T>) => enqueue<T>({ unit, value: undefined }),
    /** Runs `task` in its turn, with no transaction open. Units that arrive meanwhile wait, however long it takes. */
    alone: <T>(task: () => Promise<T>) => enqueue<T>({ task }),
    /** Rejects new units and resolves when the running ones are settled. */
    close() {
      return new Promise<void>((resolve) => {
        onClosed = resolve
        awaitTurn()
      })
    },
  }
}

const begin = { sql: 'begin immediate', parameters: [] }
const commitStatement = { sql: 'commit', parameters: [] }
const rollback = { sql: 'rollback', parameters: [] }
const savepoint = { sql: 'savepoint unit', parameters: [] }
const rollbackToSavepoint = { sql: 'rollback to unit', parameters: [] }
const release = { sql: 'release unit', parameters: [] }

/**
 * Runs a unit with a writer that works only until the unit settles.
 *
 * A unit that awaits only its own statements settles before the event loop turns once. One that waits for anything else
 * would delay all commits: it is aborted at the second turn without a statement.
 */
function startUnit(connection: SqliteConnection, unit: (writer: Writer) => Promise<unknown>) {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>()
  let ended = false
  let failure: { error: unknown } | undefined
  let statements = 0
  let statementsAtLastTurn = 0
  let idleTurns = 0

  const writer = createTransaction<Tables>((query) => {
    if (ended) throw new Error('This write unit has ended, so the statement was not run.')
    // As in PostgreSQL: after a failed statement a unit can only fail, even if it caught the error.
    if (failure) throw failure.error
    statements += 1
    try {
      return connection.execute(query)
    } catch (error) {
      failure = { error }
      throw error
    }
  })

  function fail(error: unknown): void {
    ended = true
    reject(error)
  }

  const call = async () => unit(writer)
  call().then((value) => {
    ended = true
    if (failure) reject(failure.error)
    else resolve(value)
  }, fail)

  return {
    settled: promise,
    /** Must be called at every turn of the event loop during which the unit is still running. */
    noteTurn() {
      idleTurns = statements === statementsAtLastTurn ? idleTurns + 1 : 0
      statementsAtLastTurn = statements
      if (idleTurns >= 2) fail(new Error('A write unit waited for something other than its own statements.'))
    },
  }
}
