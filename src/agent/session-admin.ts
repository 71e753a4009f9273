import { FamiliarError } from '../protocol/errors.ts'
import type { Admission } from './admission.ts'
import { reportContext } from './compaction.ts'
import type { ConversationDependencies, ConversationParts, Conversations } from './conversations.ts'
import { streamEvents, tellPast } from './event-stream.ts'
import { exchangeStarts } from './sessions/messages.ts'
import type { SessionEvent } from './sessions/session-event.ts'
import type { SessionLog } from './sessions/session-log.ts'
import type { Session } from './sessions/sessions.ts'

const maxArchivedSearched = 2_000
const pageSize = 500

/** Everything a user does with a session besides talking in it. None of it waits behind a turn. */
export type SessionAdmin = Omit<Conversations, keyof Admission | 'recover' | 'load' | 'close'>

export function createSessionAdmin(
  dependencies: Pick<
    ConversationDependencies,
    | ('coordination' | 'log' | 'live' | 'openSessions' | 'sessions' | 'inbox' | 'compaction' | 'roleOf')
    | ('subagents' | 'learning' | 'onForked' | 'settings')
  >,
  { runner, waiters, own }: ConversationParts,
): SessionAdmin {
  const { log, openSessions, sessions, inbox, coordination, compaction, settings } = dependencies

  async function ownAndQuiet(userId: string, sessionId: string): Promise<Session> {
    const session = await own(userId, sessionId)
    await runner.settled(sessionId)
    if ((await runner.runningTurn(sessionId)) !== undefined) {
      throw new FamiliarError('conflict', 'A turn is running in this session. Stop it first')
    }
    return session
  }

  async function endOfTurns(sessionId: string): Promise<number> {
    const { turn, seq } = await openSessions.projection(sessionId)
    return turn ? turn.beforeSeq : seq
  }

  async function append(sessionId: string, event: SessionEvent, turnId: string | null = null): Promise<void> {
    openSessions.follow(sessionId, await log.record({ sessionId, turnId }, [event]))
  }

  async function stop(userId: string, sessionId: string): Promise<boolean> {
    await own(userId, sessionId)
    const turnId = await runner.runningTurn(sessionId)
    if (turnId !== undefined) {
      await append(sessionId, { type: 'stop_requested' }, turnId)
      runner.abort({ sessionId, turnId })
    }
    const stopped = await dependencies.subagents.stopAll(userId, sessionId)
    return turnId !== undefined || stopped > 0
  }

  async function targets(userId: string, target: Parameters<Conversations['reset']>[1]): Promise<Session[]> {
    if ('sessionId' in target) return [await own(userId, target.sessionId)]
    const active = await sessions.list(userId)
    const chosen = 'all' in target ? active : active.filter((session) => session.contact === target.contact)
    if (chosen.length === 0 && 'contact' in target) {
      throw new FamiliarError('not_found', `There is no active session named ${target.contact}`)
    }
    return chosen
  }

  return {
    stop,
    async queue(userId, sessionId) {
      await own(userId, sessionId)
      const queued = (await inbox.openIn(sessionId))?.queued ?? []
      return queued.map(({ id, text, receivedAt }) => ({ messageId: id, text, receivedAt }))
    },
    async cancelQueued(userId, sessionId, messageId) {
      await own(userId, sessionId)
      const logged = await log.decide({ sessionId, turnId: null }, async (writer) =>
        (await inbox.cancel(writer, { messageId, sessionId })) ? [{ type: 'message_canceled', messageId }] : [],
      )
      if (logged.length === 0) {
        const place = await inbox.find(messageId)
        // Canceled twice is canceled.
        if (place?.sessionId === sessionId && place.done && place.turnId === null) return
        throw place?.sessionId === sessionId
          ? new FamiliarError('conflict', 'Familiar is already answering this message. Stop the reply instead.')
          : new FamiliarError('not_found', `Message ${messageId} is not in the queue of the conversation`)
      }
      openSessions.follow(sessionId, logged)
      runner.remove({ messageId, sessionId })
      waiters.cancel(messageId)
    },
    async reset(userId, target) {
      const chosen = await targets(userId, target)
      for (const session of chosen) {
        if (session.state === 'archived') continue
        await stop(userId, session.id)
        const next = await sessions.archive(session, coordination.onMoved)
        openSessions.forget(session.id)
        log.wake(session.id)
        if (next) runner.move(session, next)
        dependencies.learning.afterClose(session)
      }
      return chosen
    },
    async mark(userId, sessionId, name) {
      await ownAndQuiet(userId, sessionId)
      await append(sessionId, { type: 'marked', name })
    },
    async rewind(userId, sessionId, to) {
      await ownAndQuiet(userId, sessionId)
      const projection = await openSessions.projection(sessionId)
      if ('mark' in to) {
        const toSeq = projection.marks[to.mark]
        if (toSeq === undefined) throw new FamiliarError('not_found', `There is no mark named ${to.mark}`)
        return append(sessionId, { type: 'rewound', toSeq })
      }
      const starts = exchangeStarts(projection.entries)
      const index = to.turns > 0 ? starts[starts.length - to.turns] : undefined
      const first = index === undefined ? undefined : projection.entries[index]
      if (!first) throw new FamiliarError('bad_request', `Cannot go back ${to.turns} turns; there are ${starts.length}`)
      await append(sessionId, { type: 'rewound', toSeq: first.seq - 1 })
    },
    async fork(userId, sessionId, contact, { beforeMessage } = {}) {
      const session = await own(userId, sessionId)
      const throughSeq =
        beforeMessage === undefined
          ? await endOfTurns(sessionId)
          : await placeBeforeMessage(log, { sessionId, messageId: beforeMessage })
      const fork = await sessions.fork(session, { contact, throughSeq })
      await dependencies.onForked(fork)
      return fork
    },
    async compact(userId, sessionId) {
      const session = await ownAndQuiet(userId, sessionId)
      return runner.betweenTurns(sessionId, (signal) => compaction.compact(session, signal))
    },
    sessions: (userId, options) => sessions.list(userId, options),
    async findSession(userId, idOrContact, { includeArchived = false } = {}) {
      const hasName = (session: Session) => session.contact === idOrContact
      const found = (await sessions.get(userId, idOrContact)) ?? (await sessions.list(userId)).find(hasName)
      if (found || !includeArchived) return found
      return (await sessions.list(userId, { includeArchived, limit: maxArchivedSearched })).find(hasName)
    },
    async history(userId, sessionId, range) {
      await own(userId, sessionId)
      return (await log.read(sessionId, range)).events
    },
    async events(userId, sessionId, cursor, signal) {
      await own(userId, sessionId)
      return streamEvents({ log, live: dependencies.live }, { sessionId, cursor, signal })
    },
    async historyBack(userId, sessionId, range) {
      await own(userId, sessionId)
      return log.readBack(sessionId, range)
    },
    async turnEvents(userId, sessionId, turnId) {
      await own(userId, sessionId)
      return log.readTurn(sessionId, turnId)
    },
    async pastEvents(userId, sessionId, range) {
      const { lastSeq } = await own(userId, sessionId)
      return tellPast(await log.readBack(sessionId, range), lastSeq)
    },
    async contextReport(userId, sessionId) {
      const session = await own(userId, sessionId)
      const tier = settings.tierOf(session.channel)
      const role = dependencies.roleOf(session)
      const projection = await openSessions.projection(sessionId)
      return reportContext({
        projection,
        system: role.system(tier),
        tools: role.tools,
        thresholdTokens: await compaction.threshold(session),
      })
    },
    async spawns(userId, sessionId) {
      await own(userId, sessionId)
      return dependencies.subagents.list(userId, sessionId)
    },
  }
}

/**
 * The position in the log before a message and those of the same turn. Most callers look for a recent message, so the
 * search starts at the end.
 */
async function placeBeforeMessage(
  log: Pick<SessionLog, 'readBack' | 'readTurn'>,
  { sessionId, messageId }: { sessionId: string; messageId: string },
): Promise<number> {
  let before: number | undefined
  do {
    const events = await log.readBack(sessionId, { before, limit: pageSize })
    const found = events.find((event) => event.type === 'message_received' && event.messageId === messageId)
    if (found) {
      const turn = found.turnId === null ? [] : await log.readTurn(sessionId, found.turnId)
      return (turn[0]?.seq ?? found.seq) - 1
    }
    before = events[0]?.seq
  } while (before !== undefined && before > 1)
  throw new FamiliarError('not_found', 'There is no such message in this session')
}
