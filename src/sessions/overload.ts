import { type SqlBool, sql } from 'kysely'
import type { Clock } from '../base/clock.ts'
import { FamiliarError } from '../protocol/error.ts'
import type { Database, Reader, Writer } from '../storage/database.ts'

/** How many messages wait for their turn. */
export interface QueueDepth {
  /** In one session. A unit asks this while it writes: nothing may be waited for but its own statements. */
  here(sessionId: string, writer: Writer): number | Promise<number>
  /** In all, as it was a moment ago. */
  inAll(): number
}

/** Throws `rate_limited` where no more may wait. */
export type RefuseOverload = (sessionId: string, writer: Writer) => Promise<void>

const retryAfterSeconds = 5

/** What is not let in here is not dropped later: whoever sent it is told so, and when to come again (SCALE-6). */
export function createRefuseOverload(dependencies: {
  limits: () => { maxQueuedPerSession: number; maxQueued: number }
  depth: QueueDepth
}): RefuseOverload {
  const { limits, depth } = dependencies
  return async (sessionId, writer) => {
    const { maxQueuedPerSession, maxQueued } = limits()
    if (depth.inAll() >= maxQueued) throw tooMany('in all')
    if ((await depth.here(sessionId, writer)) >= maxQueuedPerSession) throw tooMany('in the session')
  }
}

function tooMany(where: string): FamiliarError {
  return new FamiliarError('rate_limited', `Too many messages wait ${where}`, { retryAfterSeconds })
}

const freshMs = 1_000

/**
 * The depth where several daemons fill one queue: what the tables say. Those of a session are counted in the unit, since
 * that is what its limit is for. All of them together are counted beside it, once a second: read in the unit, every
 * message that anybody sends would be in the way of every other.
 */
export function createSharedDepth(dependencies: {
  database: Pick<Database, 'read'>
  clock: Clock
  /** Counting goes no further than this. */
  most: () => number
}): QueueDepth {
  const { database, clock, most } = dependencies
  let known = 0
  let countedAt = Number.NEGATIVE_INFINITY

  async function count(): Promise<void> {
    known = await countQueued(database.read, { most: most() })
  }

  return {
    here: (sessionId, writer) => countQueued(writer, { sessionId, most: most() }),
    inAll() {
      if (clock.now() - countedAt >= freshMs) {
        countedAt = clock.now()
        // One that fails leaves the count before: the database itself refuses then.
        count().catch(() => {})
      }
      return known
    },
  }
}

async function countQueued(reader: Reader, asked: { sessionId?: string; most: number }): Promise<number> {
  const { sessionId, most } = asked
  const rows = await reader
    .selectFrom((from) =>
      from
        .selectFrom('inbox')
        .select('id')
        // Said beside the state itself, so that the index over what is not done is used.
        .where(sql<SqlBool>`state != 'done'`)
        .where('state', '=', 'queued')
        .$if(sessionId !== undefined, (query) => query.where('session_id', '=', sessionId ?? ''))
        .limit(most)
        .as('waiting'),
    )
    .select((select) => select.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return Number(rows.count)
}
