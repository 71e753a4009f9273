import { setImmediate } from 'node:timers'
import { setTimeout as pause } from 'node:timers/promises'
import type { CompiledQuery, QueryResult } from 'kysely'
import type pg from 'pg'
import { FamiliarError } from '../../protocol/errors.ts'
import type { Database, UnitOptions, Writer } from '../database.ts'
import type { Tables } from '../tables.ts'
import {
  type ConnectionPool,
  createTaken,
  createTransaction,
  isConnectionLost,
  isDuplicate,
  isRefusal,
  isStalePlan,
  runStatement,
  toStorageError,
  type Wiring,
} from './connection.ts'

// Imported from the module, so that tests with fake timers do not block commits.

const begin = { rows: 'begin', all: 'begin isolation level serializable' }
const refusalsBeforeAlone = 2

/**
 * Runs units as serializable transactions: they behave as if run one after another, in whichever daemon. (Units with
 * row locks use read committed.) A unit that PostgreSQL rejects is run again from its start, and so is one whose
 * connection was lost before its commit was sent. After that its outcome is unknown, and the unit rejects.
 */
export function createUnits(options: {
  pool: ConnectionPool
  place: string
  wiring: Wiring
  concurrency: number
}): Pick<Database, 'write' | 'close'> {
  const { pool, place, wiring, concurrency } = options
  const turns = createUnitTurns(concurrency)
  const { take, close } = createTaken()

  function attempt(unit: (writer: Writer) => Promise<unknown>, { meets }: UnitOptions): Promise<UnitOutcome> {
    const once = pool.use(async (client) => {
      await client.query(begin[meets ?? 'all'])
      const outcome = await runUnit({
        unit,
        execute: (query) => runStatement(client, query, wiring),
        toError: (reason) => toStorageError(reason, place),
      })
      if (outcome.ok) return commit(client, outcome)
      await client.query('rollback')
      if (isStalePlan(outcome.reason)) throw outcome.reason
      return outcome
    })
    return once.catch((reason) => ({ ok: false, error: reason, reason }))
  }

  async function commit(client: pg.PoolClient, outcome: UnitOutcome): Promise<UnitOutcome> {
    try {
      const { command } = await client.query('commit')
      if (command === 'COMMIT') return outcome
    } catch (reason) {
      if (isConnectionLost(reason)) throw unknownOutcome(place, reason)
      return { ok: false, error: reason, reason }
    }
    throw new Error('The transaction ended inside a unit of writing.')
  }

  async function run(unit: (writer: Writer) => Promise<unknown>, options: UnitOptions): Promise<unknown> {
    const tries = { refusal: 0, duplicate: 0, loss: 0 }
    for (;;) {
      const turn = tries.refusal < refusalsBeforeAlone ? turns.shared : turns.alone
      const outcome = await turn(() => attempt(unit, options))
      if (outcome.ok) {
        turns.learn('done')
        return outcome.value
      }
      const kind = kindOf(outcome.reason)
      if (kind === 'refusal') turns.learn('refused')
      if (!kind) throw toStorageError(outcome.error, place)
      tries[kind] += 1
      if (tries[kind] > most[kind]) throw givenUp(kind, outcome, place)
      await pause(Math.random() * Math.min(longest[kind], first[kind] * 2 ** tries[kind]))
    }
  }

  return {
    write: <T>(unit: (writer: Writer) => Promise<T>, options: UnitOptions = {}) =>
      take(() => run(unit, options) as Promise<T>),
    close,
  }
}

type Kind = 'refusal' | 'duplicate' | 'loss'

/** About ten seconds of pauses in total after a loss: enough for a server to restart. */
const most: Record<Kind, number> = { refusal: 40, duplicate: 2, loss: 12 }
/** Milliseconds. Conflicting units must not collide again; a server needs time to come back. */
const first: Record<Kind, number> = { refusal: 1, duplicate: 1, loss: 50 }
const longest: Record<Kind, number> = { refusal: 100, duplicate: 10, loss: 2000 }

function kindOf(error: unknown): Kind | undefined {
  if (error === undefined || error instanceof FamiliarError) return undefined
  if (isRefusal(error)) return 'refusal'
  if (isDuplicate(error)) return 'duplicate'
  return isConnectionLost(error) ? 'loss' : undefined
}

function givenUp(kind: Kind, outcome: UnitOutcome & { ok: false }, place: string): unknown {
  if (kind !== 'refusal') return toStorageError(outcome.error, place)
  const message = 'Too many concurrent writes to the same rows. Nothing was stored; try again.'
  return new FamiliarError('unavailable', message, { cause: outcome.reason, retryAfterSeconds: 1 })
}

function unknownOutcome(place: string, cause: unknown): FamiliarError {
  return new FamiliarError(
    'unavailable',
    `The connection to ${place} was lost during a commit: the data may or may not be stored. Check before you try again.`,
    { cause },
  )
}

type UnitOutcome =
  | { ok: true; value: unknown }
  /** `reason` is PostgreSQL's error, whatever the unit made of it; undefined if no statement failed. */
  | { ok: false; error: unknown; reason: unknown }

/**
 * Runs a unit with a writer that works only until the unit settles. Resolves when none of its statements is running.
 *
 * A unit that awaits only its own statements starts the next one before the event loop turns. One that waits for
 * anything else would keep its locks and its connection: it is aborted at the second turn without a running statement.
 */
async function runUnit(options: {
  unit: (writer: Writer) => Promise<unknown>
  execute: (query: CompiledQuery) => Promise<QueryResult<unknown>>
  /** Converts the error of `execute` to the one that the unit receives. */
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
    if (ended) throw new Error('This write unit has ended, so the statement was not run.')
    // PostgreSQL would also reject it, but with a different error.
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
    // A connection runs one statement at a time.
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
        end({ error: new Error('A write unit waited for something other than its own statements.') })
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

/** This many successful units raise the concurrency by one. */
const unitsForOneMore = 24

/**
 * Schedules the units of this process: runs up to `limit` units at once, fewer when they conflict: a rejection halves the concurrency, and every success
 * raises it a little. A rejected unit costs as much as a stored one, so when all write to the same few pages, running
 * one after another is fastest.
 */
export function createUnitTurns(limit: number) {
  const waiting: { alone: boolean; start: () => void }[] = []
  let running = 0
  let isAlone = false
  let allowed = limit

  function startNext(): void {
    for (let next = waiting[0]; next && mayStart(next.alone); next = waiting[0]) {
      waiting.shift()
      running += 1
      isAlone = next.alone
      next.start()
    }
  }

  function mayStart(alone: boolean): boolean {
    return alone ? running === 0 : !isAlone && running < Math.floor(allowed)
  }

  async function take<T>(alone: boolean, task: () => Promise<T>): Promise<T> {
    await new Promise<void>((start) => {
      if (alone) waiting.unshift({ alone, start })
      else waiting.push({ alone, start })
      startNext()
    })
    try {
      return await task()
    } finally {
      running -= 1
      isAlone = false
      startNext()
    }
  }

  return {
    /** Runs concurrently with others, in the order of the calls. */
    shared: <T>(task: () => Promise<T>) => take(false, task),
    /** Runs without others, before those that wait. */
    alone: <T>(task: () => Promise<T>) => take(true, task),
    /** Reports that a unit succeeded, or was rejected because of a conflict and must be retried. */
    learn(outcome: 'done' | 'refused') {
      allowed = outcome === 'done' ? Math.min(limit, allowed + 1 / unitsForOneMore) : Math.max(1, allowed / 2)
      startNext()
    },
  }
}
