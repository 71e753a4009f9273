import { sql } from 'kysely'
import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/logger.ts'
import { reasonOf } from '../base/text.ts'
import type { ConsolidatedFile, Consolidation, ConsolidationOutcome } from '../memory/learning/consolidation.ts'
import type { Exchange, ExchangeLine } from '../memory/learning/exchange.ts'
import { type Extraction, extractedMark } from '../memory/learning/extraction.ts'
import { type ConversationIndex, indexedMark } from '../memory/learning/index-conversation.ts'
import type { Models } from '../models/model.ts'
import type { Json } from '../protocol/messages.ts'
import { isAutomated, isOwnWords } from '../security/approvals.ts'
import type { Database, Writer } from '../storage/database.ts'
import { emptyReplies } from './next-step.ts'
import { isJump, isOn, type Jump, pathOf, type Range, withoutPath } from './sessions/branches.ts'
import type { EventOf, LoggedEvent } from './sessions/session-event.ts'
import { forkedAt, type SessionLog } from './sessions/session-log.ts'
import type { Session } from './sessions/sessions.ts'

type SessionId = Pick<Session, 'id' | 'userId'>

/** One unit of writing holds up all others: this many exchanges take some ten milliseconds. */
const indexedAtOnce = 16
/** Older exchanges are left to consolidation: a start must not cause costs for old conversations. */
const oldestExtracted = 2 * 24 * 60 * 60_000
/** The pause after which several turns become one piece of work. */
const quietMs = 500
/** Learning must keep up even if the messages never pause. */
const maxDelayMs = 5_000

export type Learning = ReturnType<typeof createLearning>

/**
 * Learning from conversations, in the background: one thing at a time for each user, in the order of the log, and from
 * where it stopped. It never delays a turn, and does nothing while nothing is said.
 */
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
  /** Whether the session's turns run on this daemon. The daemon that runs the next turn also learns from this one. */
  isHere: (sessionId: string) => Promise<boolean>
}) {
  const { database, index, extraction, consolidation, clock, logger, isIndexing, isExtracting, isHere } = dependencies
  const readExchanges = createExchangeReader(dependencies)
  const stop = new AbortController()
  /** The last thing of each user's line. */
  const lines = new Map<string, Promise<unknown>>()
  const waiting = new Map<string, string>()
  /** Sessions that wait for a pause in their talk. Work that is pending at a stop is done at the next start. */
  const pauses = new Map<string, { session: SessionId; since: number; cancel(): void }>()

  /** Queues behind the running work of that user. */
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

  /** The same work for the same session waits only once: it reads all messages up to the time when it runs. */
  function later(session: SessionId, name: string, work: () => Promise<unknown>): void {
    const key = `${name} ${session.id}`
    if (stop.signal.aborted || waiting.has(key)) return
    waiting.set(key, session.userId)
    void inLine(session.userId, async () => {
      waiting.delete(key)
      if (!stop.signal.aborted) await work()
    }).catch((cause: unknown) => {
      const error = reasonOf(cause)
      logger.error('learning failed; will retry after the next turn', { session: session.id, error })
    })
  }

  function learnLater(session: SessionId): void {
    later(session, 'learn', async () => {
      if (await isHere(session.id)) await learn(session)
    })
  }

  function awaitPause(session: SessionId): void {
    const known = pauses.get(session.id)
    known?.cancel()
    const since = known?.since ?? clock.now()
    const delay = Math.max(0, Math.min(quietMs, since + maxDelayMs - clock.now()))
    pauses.set(session.id, { session, since, cancel: clock.after(delay, () => endPause(session)) })
  }

  function endPause(session: SessionId): void {
    pauses.get(session.id)?.cancel()
    if (pauses.delete(session.id)) learnLater(session)
  }

  async function learn(session: SessionId): Promise<void> {
    await indexConversation(session)
    await extract(session)
  }

  async function isRemembered(sessionId: string): Promise<boolean> {
    const session = await database.read
      .selectFrom('sessions')
      .select('remembered')
      .where('id', '=', sessionId)
      .where('deleted_at', 'is', null)
      .executeTakeFirst()
    return session !== undefined && session.remembered !== 0
  }

  async function indexConversation({ id, userId }: SessionId): Promise<void> {
    const isPrivate = !(await isRemembered(id))
    for await (const { exchanges, throughSeq, left, back } of readExchanges(id, await index.through(userId, id))) {
      await index.drop(userId, id, left)
      if (isIndexing() && !isPrivate) await index.index(userId, back, { again: true })
      for (let first = 0; first < exchanges.length && isIndexing() && !isPrivate; first += indexedAtOnce) {
        if (stop.signal.aborted) return
        await index.index(userId, exchanges.slice(first, first + indexedAtOnce))
      }
      if (!isIndexing() || isPrivate || exchanges.at(-1)?.throughSeq !== throughSeq)
        await index.passOver(userId, id, throughSeq)
    }
  }

  async function extract({ id, userId }: SessionId): Promise<void> {
    const isPrivate = !(await isRemembered(id))
    for await (const { exchanges, throughSeq } of readExchanges(id, await extraction.through(userId, id))) {
      for (const exchange of exchanges) {
        if (stop.signal.aborted) return
        if (isPrivate || !isWanted(exchange)) continue
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
    if (!(await isRemembered(id))) return found
    for await (const { exchanges } of readExchanges(id, await consolidation.through(userId, id))) {
      found.push(...exchanges.filter((exchange) => exchange.throughSeq <= throughSeq))
      if ((exchanges.at(-1)?.throughSeq ?? 0) > throughSeq) break
    }
    return found
  }

  /** Extraction follows each turn, and reads the messages before it. Everything else can wait for a pause. */
  function afterTurn(session: SessionId): void {
    if (stop.signal.aborted) return
    if (isExtracting()) learnLater(session)
    else awaitPause(session)
  }

  return {
    afterTurn,
    /** The session was archived: what it was about is consolidated. Returns at once. */
    afterClose(session: SessionId) {
      // On any daemon: a closed session may never have another turn here.
      later(session, 'learn', () => learn(session))
      if (!isExtracting()) return
      later(session, 'consolidate', async () => {
        const outcome = await consolidateNow(session, stop.signal)
        if (!outcome.ok)
          logger.info('a closed session is not consolidated', { session: session.id, reason: outcome.message })
      })
    },
    /** Its passages are copies of what was said, so they go with it. Facts learned from it stay. Returns at once. */
    afterDelete({ id, userId }: SessionId) {
      later({ id, userId }, 'drop', () => index.dropAll(userId, id))
    },
    /** Its passages are made again. Returns at once. */
    afterRestore(session: SessionId) {
      later(session, 'restore', async () => {
        await index.dropAll(session.userId, session.id)
        await learn(session)
      })
    },
    /** At the start: resumes unfinished work. Returns the number of sessions. */
    async recover(): Promise<number> {
      const behind = await sessionsBehind(database)
      for (const session of behind) later(session, 'learn', () => learn(session))
      return behind.length
    },
    /** Immediately, at the user's request. */
    consolidate(session: SessionId, signal: AbortSignal): Promise<ConsolidationOutcome> {
      for (const { session: paused } of [...pauses.values()]) if (paused.userId === session.userId) endPause(paused)
      return inLine(session.userId, () => consolidateNow(session, AbortSignal.any([signal, stop.signal])))
    },
    /** The files that the user keeps for Familiar, those that changed. */
    consolidateFiles: (userId: string, signal: AbortSignal): Promise<ConsolidationOutcome[]> =>
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
    /**
     * Called before a summary replaces the log up to `throughSeq`, for writes in the unit of the swap. A failure is
     * logged and does not prevent compaction; the log still contains everything.
     */
    async beforeSwap(
      session: SessionId,
      throughSeq: number,
      signal: AbortSignal,
    ): Promise<((writer: Writer) => Promise<void>) | undefined> {
      if (!isExtracting()) return undefined
      try {
        const exchanges = await exchangesUpTo(session, throughSeq)
        if (exchanges.length === 0) return undefined
        return await consolidation.prepare({ userId: session.userId, sessionId: session.id, exchanges, signal })
      } catch (cause) {
        logger.error('consolidation before compaction failed', { session: session.id, error: reasonOf(cause) })
        return undefined
      }
    },
    async status(userId: string) {
      const owners = [...waiting.values(), ...Array.from(pauses.values(), ({ session }) => session.userId)]
      return {
        waiting: owners.filter((owner) => owner === userId).length,
        extraction: await extraction.trouble(userId),
        consolidation: await consolidation.trouble(userId),
      }
    },
    /** Runs all waiting work at once. Resolves when nothing is running. */
    async idle() {
      for (const { session } of [...pauses.values()]) endPause(session)
      while (lines.size > 0) await Promise.all(lines.values())
    },
    /** Stops running work; it continues at the next start. */
    async close() {
      stop.abort(new Error('Familiar is stopping'))
      for (const { cancel } of pauses.values()) cancel()
      pauses.clear()
      await Promise.all(lines.values())
    },
  }
}

/** Sessions whose log is longer than the learned part. */
async function sessionsBehind(database: Database): Promise<SessionId[]> {
  const reached = (name: string) => sql<number>`coalesce((
    select cast(memory_marks.value as bigint) from memory_marks
    where memory_marks.user_id = sessions.user_id and memory_marks.name = ${name} || sessions.id
  ), 0)`
  const rows = await database.read
    .selectFrom('sessions')
    .select(['id', 'user_id'])
    .where('deleted_at', 'is', null)
    .where((where) =>
      where.or([where('last_seq', '>', reached(indexedMark(''))), where('last_seq', '>', reached(extractedMark('')))]),
    )
    .orderBy('updated_at')
    .execute()
  return rows.map((row) => ({ id: row.id, userId: row.user_id }))
}

/** A request to forget something names it, so the request itself must not be stored either. */
const forgettingTools = ['memory_forget', 'delete_memory']

/** Text that is saved in or read from the user's browser must not be stored here as well (CLIENT-2). */
const browserMemoryTools = ['save_memory', 'read_browser_memory']

const forgettingCommand = /^\s*\/?forget\b/i

function isForgettingCall({ name, input }: { name: string; input: Json }): boolean {
  if (forgettingTools.includes(name)) return true
  const given = name === 'slash_command' && typeof input === 'object' && !Array.isArray(input) ? input?.command : null
  return typeof given === 'string' && forgettingCommand.test(given)
}

/**
 * The exchanges in a part of a session's log that starts between two turns. Left out: automated messages and their
 * replies, replies of a model that works by form, passing information (TOOL-9), and text that Familiar itself adds
 * (approval questions, status lines).
 */
export function exchangesOf(
  events: readonly LoggedEvent[],
  options: {
    sessionId: string
    isOffline(model: string): boolean
    /** Those of the whole log. Default: those of the part. */
    jumps?: readonly Jump[]
  },
) {
  const turns = new Map<string, LoggedEvent[]>()
  const open = new Set<string>()
  const path = pathOf(options.jumps ?? events.filter(isJump), events.at(-1)?.seq ?? 0)
  for (const event of events) {
    if (event.turnId === null || !isOn(path, event.seq)) continue
    const known = turns.get(event.turnId)
    if (known) known.push(event)
    else turns.set(event.turnId, [event])
    if (event.type === 'turn_ended') open.delete(event.turnId)
    else if (!known) open.add(event.turnId)
  }
  const firstOpen = Math.min(...[...open].map((turnId) => turns.get(turnId)?.[0]?.seq ?? Number.POSITIVE_INFINITY))
  // Up to here the log is read to the end: no turn was under way.
  const throughSeq = Math.min(firstOpen - 1, events.at(-1)?.seq ?? 0)
  const exchanges = [...turns].flatMap(([turnId, own]) => {
    const last = own.findLast((event) => event.type === 'turn_ended')
    return last && last.seq <= throughSeq ? [exchangeOf(turnId, own, last)] : []
  })
  return { exchanges, throughSeq }

  function exchangeOf(turnId: string, own: readonly LoggedEvent[], ended: EventOf<'turn_ended'>): Exchange {
    const messages = own.filter((event) => event.type === 'message_received')
    const isForgetting = ended.toolCalls.some((call) => !call.isError && isForgettingCall(call))
    const isBrowsers = own.some(
      (event) => event.type === 'tool_started' && event.isClients === true && browserMemoryTools.includes(event.name),
    )
    const said = messages.filter(
      (message) => !isForgetting && !isBrowsers && !isAutomated(message.source) && message.text.trim() !== '',
    )
    const lines = said.map((message): ExchangeLine => {
      const { text, at, seq } = message
      return {
        speaker: 'user',
        text,
        at,
        seq,
        ...((!isOwnWords(message) || message.answers !== undefined) && { isProgram: true }),
      }
    })
    const reply = lines.length > 0 && isSaidByModel(own, ended) ? withoutGate(own, ended) : ''
    if (reply !== '') lines.push({ speaker: 'assistant', text: reply, at: ended.at, seq: ended.seq })
    return {
      sessionId: options.sessionId,
      turnId,
      at: own[0]?.at ?? ended.at,
      throughSeq: ended.seq,
      lines,
      untrusted: said.some(({ label }) => label === 'untrusted'),
      ...(ended.label === 'untrusted' && { sawUntrusted: true }),
    }
  }

  function isSaidByModel(own: readonly LoggedEvent[], ended: EventOf<'turn_ended'>): boolean {
    const response = own.findLast((event) => event.type === 'model_responded')
    const isReply = ended.outcome === 'completed' || ended.outcome === 'question'
    if (own.some((event) => event.type === 'tool_finished' && event.isEphemeral)) return false
    return isReply && ended.deliver && ended.text.trim() !== '' && !!response && !options.isOffline(response.model)
  }
}

/** The reply without the questions for approval and without status lines: both are Familiar's own words, not the model's. */
function withoutGate(own: readonly LoggedEvent[], ended: EventOf<'turn_ended'>): string {
  const questions = own.flatMap((event) => {
    if (event.type === 'approval_asked') return [event.question]
    return event.type === 'tool_finished' && event.approvalId !== undefined && event.question ? [event.question] : []
  })
  const parts = [...(ended.added ? [ended.added] : []), ...questions.toReversed()]
  const text = parts.reduce((left, part) => left.replace(part, ''), ended.text).trim()
  return emptyReplies.has(text) ? '' : text
}

const eventsAtOnce = 400

interface ReadExchanges extends ReturnType<typeof exchangesOf> {
  /** The turns before this batch that it takes out of the conversation: another branch was chosen. */
  left: string[]
  /** The exchanges before this batch that are part of the conversation again. */
  back: Exchange[]
}

/** The exchanges of a session after a position in its log, in batches, oldest first. */
function createExchangeReader(dependencies: { database: Database; log: SessionLog; models: Models }) {
  const { database, log, models } = dependencies
  const isOffline = (model: string) => models.byId(model)?.info.offline === true

  async function readRanges(sessionId: string, ranges: readonly Range[]): Promise<LoggedEvent[]> {
    const parts = ranges.map(({ first, through }) =>
      log.read(sessionId, { after: first - 1, limit: through - first + 1 }),
    )
    return (await Promise.all(parts)).flatMap(({ events }) => events)
  }

  return async function* readExchanges(sessionId: string, after: number): AsyncGenerator<ReadExchanges> {
    const copied = await forkedAt(database.read, sessionId)
    let from = after > 0 ? after : copied
    let limit = eventsAtOnce
    for (;;) {
      const { events, damaged } = await log.read(sessionId, { after: from, limit })
      const jumps = await log.readJumps(sessionId)
      const read = exchangesOf(events, { sessionId, isOffline, jumps })
      const isWhole = events.length + damaged < limit
      if (read.throughSeq > from) {
        const moved = { left: [] as string[], back: [] as Exchange[] }
        if (jumps.some(({ seq }) => seq > from && seq <= read.throughSeq)) {
          const before = pathOf(jumps, from)
          const now = pathOf(jumps, read.throughSeq)
          const left = await readRanges(sessionId, withoutPath(before, now))
          moved.left = [...new Set(left.flatMap(({ turnId }) => turnId ?? []))]
          const again = withoutPath(now, before).filter(({ first, through }) => first > copied && through <= from)
          const back = await readRanges(sessionId, again)
          moved.back = exchangesOf(back, { sessionId, isOffline, jumps: [] }).exchanges
        }
        yield { ...read, ...moved }
      }
      if (isWhole) return
      // A turn longer than a batch: the batch grows until it holds one whole turn.
      if (read.throughSeq <= from) limit *= 2
      else {
        from = read.throughSeq
        limit = eventsAtOnce
      }
    }
  }
}
