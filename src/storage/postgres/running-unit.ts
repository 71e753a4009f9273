// Taken from the module, so that tests which replace the global timers do not stop commits.
import { setImmediate } from 'node:timers'
import type { CompiledQuery, QueryResult } from 'kysely'
import type { Writer } from '../database.ts'
import type { Tables } from '../tables.ts'
import { createTransaction } from './postgres-dialect.ts'

export type UnitOutcome =
  | { ok: true; value: unknown }
  /** `reason` is what PostgreSQL said, whatever the unit made of it; undefined where no statement failed. */
  | { ok: false; error: unknown; reason: unknown }

/**
 * Runs a unit with a writer that works until the unit settles and not a statement longer. Resolves when none of its
 * statements is under way any more.
 *
 * A unit that awaits only its own statements begins the next one before the event loop turns. One that waits for anything
 * else would keep its locks and its connection: it is expelled at the second turn that finds no statement under way.
 */
export async function runUnit(options: {
  unit: (writer: Writer) => Promise<unknown>
  execute: (query: CompiledQuery) => Promise<QueryResult<unknown>>
  /** What the unit is told instead of what `execute` rejects with. */
  toError: (reason: unknown) => unknown
}): Promise<UnitOutcome> {
  const { unit, execute, toError } = options
  const { promise, resolve } = Promise.withResolvers<{ value: unknown } | { error: unknown }>()
  let ended = false
  let failure: { error: unknown; reason: unknown } | undefined
  let underWay = 0
  let isWatched = false
  let last: Promise<unknown> = Promise.resolve()

  function end(result: { value: unknown } | { error: unknown }): void {
    ended = true
    resolve(result)
  }

  async function runInTurn(query: CompiledQuery): Promise<QueryResult<unknown>> {
    if (ended) throw new Error('This unit of writing has ended; the statement came too late and was not run.')
    // PostgreSQL would refuse it too, but with another error.
    if (failure) throw failure.error
    try {
      return await execute(query)
    } catch (reason) {
      failure = { error: toError(reason), reason }
      throw failure.error
    }
  }

  const writer = createTransaction<Tables>((query) => {
    underWay += 1
    // A connection takes one statement at a time.
    const result = last
      .then(() => runInTurn(query))
      .finally(() => {
        underWay -= 1
        watch()
      })
    last = result.catch(() => {})
    return result
  })

  function watch(idleTurns = 0): void {
    if (idleTurns === 0 && isWatched) return
    isWatched = true
    setImmediate(() => {
      if (ended || underWay > 0) {
        isWatched = false
      } else if (idleTurns < 1) {
        watch(idleTurns + 1)
      } else {
        end({ error: new Error('A unit of writing waited for something other than its own statements.') })
      }
    })
  }

  watch()
  const call = async () => unit(writer)
  call().then(
    (value) => end({ value }),
    (error) => end({ error }),
  )
  const result = await promise
  await last
  const reason = failure?.reason
  if ('error' in result) return { ok: false, error: result.error, reason }
  return failure ? { ok: false, error: failure.error, reason } : { ok: true, value: result.value }
}
