// Taken from the module, so that tests which replace the global timers do not stop commits.
import { setTimeout as pause } from 'node:timers/promises'
import type pg from 'pg'
import { FamiliarError } from '../../protocol/error.ts'
import type { Database, UnitOptions, Writer } from '../database.ts'
import type { ConnectionPool } from './connection-pool.ts'
import { isConnectionLost, isDuplicate, isRefusal, isStalePlan, toStorageError } from './postgres-error.ts'
import { runStatement, type Wiring } from './run-statement.ts'
import { runUnit, type UnitOutcome } from './running-unit.ts'
import { createUnitTurns } from './unit-turns.ts'

export interface Units {
  write: Database['write']
  /** Refuses new units and resolves when those already taken are settled. */
  close(): Promise<void>
}

const begin = { rows: 'begin', all: 'begin isolation level serializable' }
// About ten seconds of pauses in all: a server that is started anew is back by then.
const mostLosses = 12
const mostRefusals = 40
const mostDuplicates = 2
const refusalsBeforeAlone = 2

/**
 * Units as serialisable transactions: they behave as if one came after another, whichever daemons they run in. (Those that
 * meet others in rows alone are read committed.) One that PostgreSQL refuses is run again from its start. So is one whose
 * connection was lost before its commit was asked for; after that nobody can tell whether it was stored, and the unit
 * rejects.
 */
export function createUnits(options: {
  pool: ConnectionPool
  place: string
  wiring: Wiring
  concurrency: number
  random?: () => number
}): Units {
  const { pool, place, wiring, concurrency, random = Math.random } = options
  const turns = createUnitTurns(concurrency)
  const taken = new Set<Promise<unknown>>()
  let isClosed = false

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
      await pause(random() * Math.min(longest[kind], first[kind] * 2 ** tries[kind]))
    }
  }

  return {
    async write<T>(unit: (writer: Writer) => Promise<T>, options: UnitOptions = {}) {
      if (isClosed) throw new FamiliarError('unavailable', 'The database is closed.')
      const result = run(unit, options)
      taken.add(result)
      try {
        return (await result) as T
      } finally {
        taken.delete(result)
      }
    },
    async close() {
      isClosed = true
      await Promise.allSettled(taken)
    },
  }
}

type Kind = 'refusal' | 'duplicate' | 'loss'

const most: Record<Kind, number> = { refusal: mostRefusals, duplicate: mostDuplicates, loss: mostLosses }
/** Milliseconds. Two that got into each other's way must not meet again; a server needs time to come back. */
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
  return new FamiliarError(
    'unavailable',
    'Too much is written to the same rows at once. Nothing was stored; try again.',
    {
      cause: outcome.reason,
      retryAfterSeconds: 1,
    },
  )
}

function unknownOutcome(place: string, cause: unknown): FamiliarError {
  return new FamiliarError(
    'unavailable',
    `${place} was lost while it stored this: it may be stored or not. Look before you try again.`,
    { cause },
  )
}
