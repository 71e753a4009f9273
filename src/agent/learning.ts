import { sql } from 'kysely'
import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/logger.ts'
import type { ConsolidatedFile } from '../memory/learning/consolidate-file.ts'
import type { Consolidation, ConsolidationOutcome } from '../memory/learning/consolidation.ts'
import type { Exchange } from '../memory/learning/exchange.ts'
import { type Extraction, extractedMark } from '../memory/learning/extraction.ts'
import { type ConversationIndex, indexedMark } from '../memory/learning/index-conversation.ts'
import type { TroubleReport } from '../memory/learning/trouble.ts'
import type { Models } from '../models/models.ts'
import type { SessionLog } from '../sessions/session-log.ts'
import type { Session } from '../sessions/sessions.ts'
import type { Database, Writer } from '../storage/database.ts'
import { createLearningPauses } from './learning-pauses.ts'
import { createExchangeReader } from './read-exchanges.ts'

type SessionId = Pick<Session, 'id' | 'userId'>

interface LearningStatus {
  /** Sessions that wait to be learnt from. */
  waiting: number
  extraction: TroubleReport | undefined
  consolidation: TroubleReport | undefined
}

/**
 * Learning from conversations, in the background: one thing at a time for each user, in the order of the log, and from
 * where it stopped. It never delays a turn, and does nothing while nothing is said.
 */
export interface Learning {
  /**
   * Returns at once. What was said becomes findable a moment later, several turns together where they follow each other
   * quickly; what is worth keeping of it is kept.
   */
  afterTurn(session: SessionId): void
  /** The session was archived: what it was about is consolidated. Returns at once. */
  afterClose(session: SessionId): void
  /** At start: takes up what was left undone. Returns how many sessions that is. */
  recover(): Promise<number>
  /** Now, on the user's word. */
  consolidate(session: SessionId, signal: AbortSignal): Promise<ConsolidationOutcome>
  /** The files that the user keeps for Familiar, those that changed. */
  consolidateFiles(userId: string, signal: AbortSignal): Promise<ConsolidationOutcome[]>
  /**
   * Before a summary takes the place of the log up to `throughSeq`: what is to be written in the unit of the swap. A
   * failure is logged and keeps nothing from being compacted; the log still holds it all.
   */
  beforeSwap(
    session: SessionId,
    throughSeq: number,
    signal: AbortSignal,
  ): Promise<((writer: Writer) => Promise<void>) | undefined>
  status(userId: string): Promise<LearningStatus>
  /** Does at once whatever waits. Resolves when nothing is under way. */
  idle(): Promise<void>
  /** Stops what is under way; it goes on at the next start. */
  close(): Promise<void>
}

/** One unit of writing holds up all others: this many exchanges take some ten milliseconds. */
const indexedAtOnce = 16
/** Past this, extraction leaves an exchange to consolidation: nobody expects a bill for old conversations at a start. */
const oldestExtracted = 2 * 24 * 60 * 60_000

export function createLearning(dependencies: {
  database: Database
  log: SessionLog
  models: Models
  index: ConversationIndex
  extraction: Extraction
  consolidation: Consolidation
  consolidateFile: (file: ConsolidatedFile) => Promise<ConsolidationOutcome>
  /** The user's own files for Familiar, as they are now. */
  readFiles: (userId: string) => Promise<readonly Pick<ConsolidatedFile, 'path' | 'text' | 'at'>[]>
  clock: Clock
  logger: Logger
  /** `memory.conversations` of the config: whether lines of talk become memory. */
  isIndexing: () => boolean
  /** `memory.extraction` of the config: whether a model is asked on its own account. */
  isExtracting: () => boolean
  /** Whether the session's turns run here, where daemons share them: whoever runs the next one learns of this one too. */
  isHere?: (sessionId: string) => Promise<boolean>
}): Learning {
  const { database, index, extraction, consolidation, clock, logger, isIndexing, isExtracting } = dependencies
  const { isHere = async () => true } = dependencies
  const readExchanges = createExchangeReader(dependencies)
  const stop = new AbortController()
  /** The last thing of each user's line. */
  const lines = new Map<string, Promise<unknown>>()
  const waiting = new Map<string, string>()
  /** What still waits at a stop is done at the next start: the marks tell that it is not. */
  const pauses = createLearningPauses({ clock, onPause: learnLater })

  /** Behind whatever is under way for that user. */
  function inLine<T>(userId: string, task: () => Promise<T>): Promise<T> {
    const done = (lines.get(userId) ?? Promise.resolve()).then(task)
    const settled = done
      .catch(() => undefined)
      .then(() => {
        if (lines.get(userId) === settled) lines.delete(userId)
      })
    lines.set(userId, settled)
    return done
  }

  /** The same work for the same session waits only once: it reads whatever has been said by the time that it runs. */
  function later(session: SessionId, name: string, work: () => Promise<unknown>): void {
    const key = `${name} ${session.id}`
    if (stop.signal.aborted || waiting.has(key)) return
    waiting.set(key, session.userId)
    void inLine(session.userId, async () => {
      waiting.delete(key)
      if (!stop.signal.aborted) await work()
    }).catch((cause: unknown) => {
      logger.error('learning failed; it is tried again after the next turn', {
        session: session.id,
        error: cause instanceof Error ? cause.message : String(cause),
      })
    })
  }

  function learnLater(session: SessionId): void {
    later(session, 'learn', async () => {
      if (await isHere(session.id)) await learn(session)
    })
  }

  async function learn(session: SessionId): Promise<void> {
    await indexConversation(session)
    await extract(session)
  }

  async function indexConversation({ id, userId }: SessionId): Promise<void> {
    for await (const { exchanges, throughSeq } of readExchanges(id, await index.through(userId, id))) {
      for (let first = 0; first < exchanges.length && isIndexing(); first += indexedAtOnce) {
        if (stop.signal.aborted) return
        await index.index(userId, exchanges.slice(first, first + indexedAtOnce))
      }
      if (!isIndexing() || exchanges.at(-1)?.throughSeq !== throughSeq) await index.passOver(userId, id, throughSeq)
    }
  }

  async function extract({ id, userId }: SessionId): Promise<void> {
    for await (const { exchanges, throughSeq } of readExchanges(id, await extraction.through(userId, id))) {
      for (const exchange of exchanges) {
        if (stop.signal.aborted) return
        if (!isWanted(exchange)) continue
        const outcome = await extraction.extract(userId, exchange, stop.signal)
        if (outcome.status === 'failed' && outcome.again) return
      }
      await extraction.passOver(userId, id, throughSeq)
    }
  }

  function isWanted(exchange: Exchange): boolean {
    return isExtracting() && exchange.lines.length > 0 && clock.now() - exchange.at <= oldestExtracted
  }

  async function consolidateNow({ id, userId }: SessionId, signal: AbortSignal): Promise<ConsolidationOutcome> {
    const exchanges = await exchangesUpTo({ id, userId }, Number.POSITIVE_INFINITY)
    return consolidation.consolidate({ userId, sessionId: id, exchanges, signal })
  }

  async function exchangesUpTo({ id, userId }: SessionId, throughSeq: number): Promise<Exchange[]> {
    const found: Exchange[] = []
    for await (const { exchanges } of readExchanges(id, await consolidation.through(userId, id))) {
      found.push(...exchanges.filter((exchange) => exchange.throughSeq <= throughSeq))
      if ((exchanges.at(-1)?.throughSeq ?? 0) > throughSeq) break
    }
    return found
  }

  /** Extraction follows each turn, and reads what was said before it. Everything else has time until a pause. */
  function afterTurn(session: SessionId): void {
    if (stop.signal.aborted) return
    if (isExtracting()) learnLater(session)
    else pauses.wait(session)
  }

  return {
    afterTurn,
    afterClose(session) {
      // Wherever it is closed: nobody may run another turn of it.
      later(session, 'learn', () => learn(session))
      if (!isExtracting()) return
      later(session, 'consolidate', async () => {
        const outcome = await consolidateNow(session, stop.signal)
        if (!outcome.ok)
          logger.info('a closed session is not consolidated', { session: session.id, reason: outcome.message })
      })
    },
    async recover() {
      const behind = await sessionsBehind(database)
      for (const session of behind) later(session, 'learn', () => learn(session))
      return behind.length
    },
    consolidate(session, signal) {
      pauses.end(session.userId)
      return inLine(session.userId, () => consolidateNow(session, AbortSignal.any([signal, stop.signal])))
    },
    consolidateFiles: (userId, signal) =>
      inLine(userId, async () => {
        const outcomes: ConsolidationOutcome[] = []
        for (const file of await dependencies.readFiles(userId)) {
          const outcome = await dependencies.consolidateFile({
            ...file,
            userId,
            signal: AbortSignal.any([signal, stop.signal]),
          })
          outcomes.push(outcome)
          if (!outcome.ok && outcome.reason !== 'failed') break
        }
        return outcomes
      }),
    async beforeSwap(session, throughSeq, signal) {
      if (!isExtracting()) return undefined
      try {
        const exchanges = await exchangesUpTo(session, throughSeq)
        if (exchanges.length === 0) return undefined
        return await consolidation.prepare({ userId: session.userId, sessionId: session.id, exchanges, signal })
      } catch (cause) {
        const error = cause instanceof Error ? cause.message : String(cause)
        logger.error('consolidation before compaction failed', { session: session.id, error })
        return undefined
      }
    },
    async status(userId) {
      return {
        waiting: [...waiting.values(), ...pauses.waiting().map((session) => session.userId)].filter(
          (owner) => owner === userId,
        ).length,
        extraction: await extraction.trouble(userId),
        consolidation: await consolidation.trouble(userId),
      }
    },
    async idle() {
      pauses.end()
      while (lines.size > 0) await Promise.all(lines.values())
    },
    async close() {
      stop.abort(new Error('Familiar is stopping'))
      pauses.cancel()
      await Promise.all(lines.values())
    },
  }
}

/** Those whose log goes on past where they were learnt from. */
async function sessionsBehind(database: Database): Promise<SessionId[]> {
  const reached = (name: string) => sql<number>`coalesce((
    select cast(memory_marks.value as bigint) from memory_marks
    where memory_marks.user_id = sessions.user_id and memory_marks.name = ${name} || sessions.id
  ), 0)`
  const rows = await database.read
    .selectFrom('sessions')
    .select(['id', 'user_id'])
    .where((where) =>
      where.or([where('last_seq', '>', reached(indexedMark(''))), where('last_seq', '>', reached(extractedMark('')))]),
    )
    .orderBy('updated_at')
    .execute()
  return rows.map((row) => ({ id: row.id, userId: row.user_id }))
}
