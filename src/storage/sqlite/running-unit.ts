import type { Writer } from '../database.ts'
import type { Tables } from '../tables.ts'
import type { SqliteConnection } from './sqlite-connection.ts'
import { createTransaction } from './sqlite-dialect.ts'

export interface RunningUnit {
  readonly settled: Promise<unknown>
  /** To be called at every turn of the event loop that finds the unit still running. */
  noteTurn(): void
}

/**
 * Runs a unit with a writer that works until the unit settles and not a statement longer.
 *
 * A unit that awaits only its own statements settles before the event loop turns even once. One that waits for
 * anything else would hold up everybody's commit: it is expelled at the second turn in which it ran no statement.
 */
export function startUnit(connection: SqliteConnection, unit: (writer: Writer) => Promise<unknown>): RunningUnit {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>()
  let ended = false
  let failure: { error: unknown } | undefined
  let statements = 0
  let statementsAtLastTurn = 0
  let idleTurns = 0

  const writer = createTransaction<Tables>((query) => {
    if (ended) throw new Error('This unit of writing has ended; the statement came too late and was not run.')
    // As in PostgreSQL: after a failed statement a unit can only fail, even where it caught the error.
    if (failure) throw failure.error
    statements += 1
    try {
      return connection.execute(query)
    } catch (error) {
      failure = { error }
      throw error
    }
  })

  function succeed(value: unknown): void {
    ended = true
    if (failure) reject(failure.error)
    else resolve(value)
  }

  function fail(error: unknown): void {
    ended = true
    reject(error)
  }

  const call = async () => unit(writer)
  call().then(succeed, fail)

  return {
    settled: promise,
    noteTurn() {
      idleTurns = statements === statementsAtLastTurn ? idleTurns + 1 : 0
      statementsAtLastTurn = statements
      if (idleTurns >= 2) fail(new Error('A unit of writing waited for something other than its own statements.'))
    },
  }
}
