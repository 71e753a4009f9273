// Taken from the module, so that tests which replace the global timers do not stop commits.
import { setImmediate } from 'node:timers'
import { FamiliarError } from '../../protocol/error.ts'
import type { Writer } from '../database.ts'
import { type RunningUnit, startUnit } from './running-unit.ts'
import type { SqliteConnection } from './sqlite-connection.ts'

export interface GroupCommit {
  write<T>(unit: (writer: Writer) => Promise<T>): Promise<T>
  /** Runs `task` in its turn, with no transaction open. Units that come meanwhile wait for it, however long it takes. */
  alone<T>(task: () => Promise<T>): Promise<T>
  /** Refuses new units and resolves when those already taken are settled. */
  close(): Promise<void>
}

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
 * A unit starts at once. Its transaction is committed when the turn is over (`setImmediate`, about 2 µs later when
 * nothing else is going on), so whatever the other sockets of that turn want to write shares its fsync. The first unit
 * of a transaction needs no savepoint: when it fails there is nothing else to keep.
 */
export function createGroupCommit(options: { connection: SqliteConnection; unitsPerCommit?: number }): GroupCommit {
  const { connection, unitsPerCommit = 128 } = options
  const waiting: (Entry | Task)[] = []
  /** Ran inside the open transaction and wait for its commit. */
  let finished: Entry[] = []
  let running: RunningUnit | undefined
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
      // The others would have shared this transaction; trying each anew could block for the busy timeout each time.
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
    // SQLite itself rolls back everything on a full disk or an input/output error: the earlier units are gone too.
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
      // Nothing to commit until it ends, and asking at every turn would take a whole processor.
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
    write: (unit) => enqueue({ unit, value: undefined }),
    alone: (task) => enqueue({ task }),
    close() {
      return new Promise((resolve) => {
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
