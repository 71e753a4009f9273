import type { Models } from '../models/models.ts'
import type { SessionLog } from '../sessions/session-log.ts'
import type { Database } from '../storage/database.ts'
import { exchangesOf, type ReadExchanges } from './exchanges-of.ts'

const eventsAtOnce = 400

/** What was said in a session after a place in its log, a batch at a time, oldest first. */
export function createExchangeReader(dependencies: { database: Database; log: SessionLog; models: Models }) {
  const { database, log, models } = dependencies
  const isOffline = (model: string) => models.byId(model)?.info.offline === true

  return async function* readExchanges(sessionId: string, after: number): AsyncGenerator<ReadExchanges> {
    let from = after > 0 ? after : await forkedAt(sessionId)
    let limit = eventsAtOnce
    for (;;) {
      const { events, damaged } = await log.read(sessionId, { after: from, limit })
      const read = exchangesOf(events, { sessionId, isOffline })
      const isWhole = events.length + damaged < limit
      if (read.throughSeq > from) yield read
      if (isWhole) return
      // A turn longer than a batch: the batch grows until it holds one whole turn.
      if (read.throughSeq <= from) limit *= 2
      else {
        from = read.throughSeq
        limit = eventsAtOnce
      }
    }
  }

  /** A fork begins with a copy of another session's log: that was learnt there. */
  async function forkedAt(sessionId: string): Promise<number> {
    const row = await database.read
      .selectFrom('session_events')
      .select('seq')
      .where('session_id', '=', sessionId)
      .where('type', '=', 'forked')
      .orderBy('seq', 'desc')
      .limit(1)
      .executeTakeFirst()
    return Number(row?.seq ?? 0)
  }
}
