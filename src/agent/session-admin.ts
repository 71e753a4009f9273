import { FamiliarError } from '../protocol/errors.ts'
import { reportContext } from './compaction.ts'
import type { ContextReport, ConversationDependencies, ConversationParts } from './conversations.ts'
import { streamEvents, tellPast } from './event-stream.ts'
import { pathOf } from './sessions/branches.ts'
import { exchangeStarts } from './sessions/projection.ts'
import type { LoggedEvent, SessionEvent } from './sessions/session-event.ts'
import type { SessionLog } from './sessions/session-log.ts'
import type { Session } from './sessions/sessions.ts'

const maxArchivedSearched = 2_000
const pageSize = 500

type ResetTarget = { all: true } | { sessionId: string } | { contact: string }
type BackRange = Parameters<SessionLog['readBack']>[1]

export type SessionGates = ReturnType<typeof createSessionGates>

/** Wraps work so that it gets the caller's own session, or `not_found`. */
export function createSessionGates({ runner, own }: Pick<ConversationParts, 'runner' | 'own'>) {
  function ofOwn<Args extends unknown[], Result>(work: (session: Session, ...args: Args) => Promise<Result> | Result) {
    return async (userId: string, sessionId: string, ...args: Args) => work(await own(userId, sessionId), ...args)
  }

  /** The same where no turn may be running. */
  function ofQuiet<Args extends unknown[], Result>(work: (session: Session, ...args: Args) => Promise<Result>) {
    return ofOwn(async (session, ...args: Args) => {
      await runner.settled(session.id)
      if ((await runner.runningTurn(session.id)) !== undefined) {
        throw new FamiliarError('conflict', 'A turn is running in this session. Stop it first')
      }
      return work(session, ...args)
    })
  }

  return { ofOwn, ofQuiet }
}

/** Everything a user does with a session besides talking in it. None of it waits behind a turn. */
export function createSessionAdmin(
  dependencies: ConversationDependencies,
  { runner, waiters, own }: ConversationParts,
) {
  const { log, openSessions, sessions, inbox, coordination, compaction, settings } = dependencies
  const { ofOwn, ofQuiet } = createSessionGates({ runner, own })

  async function append(sessionId: string, event: SessionEvent, turnId: string | null = null): Promise<void> {
    openSessions.follow(sessionId, await log.record({ sessionId, turnId }, [event]))
  }

  /** With all that works for it. True where something was running. */
  const stop = ofOwn(async ({ id: sessionId, userId }): Promise<boolean> => {
    const turnId = await runner.runningTurn(sessionId)
    if (turnId !== undefined) {
      await append(sessionId, { type: 'stop_requested' }, turnId)
      runner.abort({ sessionId, turnId })
    }
    const stopped = await dependencies.subagents.stopAll(userId, sessionId)
    return turnId !== undefined || stopped > 0
  })

  async function targets(userId: string, target: ResetTarget): Promise<Session[]> {
    if ('sessionId' in target) return [await own(userId, target.sessionId)]
    const active = await sessions.list(userId)
    const chosen = 'all' in target ? active : active.filter((session) => session.contact === target.contact)
    if (chosen.length === 0 && 'contact' in target) {
      throw new FamiliarError('not_found', `There is no active session named ${target.contact}`)
    }
    return chosen
  }

  /** Returns what moved to a new session. The caller has stopped the session. */
  async function archiveStopped(session: Session): Promise<void> {
    const next = await sessions.archive(session, coordination.onMoved)
    openSessions.forget(session.id)
    log.wake(session.id)
    if (next) runner.move(session, next)
  }

  async function archive(session: Session): Promise<void> {
    if (session.state === 'archived') return
    await stop(session.userId, session.id)
    await archiveStopped(session)
    dependencies.learning.afterClose(session)
  }

  /** Cancels a queued message. `conflict` if its turn has started, `not_found` for any other message. */
  const cancelQueued = ofOwn(async ({ id: sessionId }, messageId: string): Promise<void> => {
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
  })

  /** It is hidden at once; nothing that waits in it is answered. */
  async function deleteOne(session: Session): Promise<void> {
    const { id, userId, state } = session
    await stop(userId, id)
    for (const message of (await inbox.openIn(id))?.queued ?? []) {
      // Its turn may have started in the meantime; it was stopped or ends in the archived session.
      await cancelQueued(userId, id, message.id).catch(() => undefined)
    }
    if (state === 'active') await archiveStopped(session)
    await sessions.delete(session, state)
    openSessions.forget(id)
    dependencies.learning.afterDelete(session)
  }

  return {
    stop,
    queue: ofOwn(async ({ id }) => {
      const queued = (await inbox.openIn(id))?.queued ?? []
      return queued.map(({ id: messageId, text, receivedAt }) => ({ messageId, text, receivedAt }))
    }),
    cancelQueued,
    /** Archives; nothing is deleted. Returns the archived sessions. */
    async reset(userId: string, target: ResetTarget): Promise<Session[]> {
      const chosen = await targets(userId, target)
      for (const session of chosen) await archive(session)
      return chosen
    },
    archive: ofOwn(archive),
    /** The next message continues it. */
    unarchive: ofOwn(async (session): Promise<void> => {
      if (session.state === 'active') return
      await sessions.unarchive(session)
      openSessions.forget(session.id)
    }),
    /** Hides it, and its passages from memory, until it is restored or removed for good. */
    delete: ofOwn(deleteOne),
    async restore(userId: string, sessionId: string): Promise<Session> {
      const restored = await sessions.restore(userId, sessionId)
      if (!restored) throw new FamiliarError('not_found', 'There is no such deleted conversation')
      openSessions.forget(sessionId)
      dependencies.learning.afterRestore(restored)
      return restored
    },
    deletedSessions: (userId: string) => sessions.deleted(userId),
    /** All events of the chosen branch, in order, in parts. */
    async *path(userId: string, sessionId: string): AsyncGenerator<readonly LoggedEvent[]> {
      const { id, lastSeq } = await own(userId, sessionId)
      for (const { first, through } of pathOf(await log.readJumps(id), lastSeq)) {
        for (let after = first - 1; after < through; after += pageSize) {
          yield (await log.read(id, { after, limit: Math.min(pageSize, through - after) })).events
        }
      }
    },
    mark: ofQuiet(({ id }, name: string) => append(id, { type: 'marked', name })),
    rewind: ofQuiet(async ({ id }, to: { mark: string } | { turns: number }) => {
      const projection = await openSessions.projection(id)
      if ('mark' in to) {
        const toSeq = projection.marks[to.mark]
        if (toSeq === undefined) throw new FamiliarError('not_found', `There is no mark named ${to.mark}`)
        return append(id, { type: 'rewound', toSeq })
      }
      const starts = exchangeStarts(projection.entries)
      const index = to.turns > 0 ? starts[starts.length - to.turns] : undefined
      const first = index === undefined ? undefined : projection.entries[index]
      if (!first) throw new FamiliarError('bad_request', `Cannot go back ${to.turns} turns; there are ${starts.length}`)
      return append(id, { type: 'rewound', toSeq: first.seq - 1 })
    }),
    /** With `beforeMessage` as it was before that message; otherwise as it is, without a turn under way. */
    fork: ofOwn(async (session, contact: string, { beforeMessage }: { beforeMessage?: string } = {}) => {
      const { turn, seq } = await openSessions.projection(session.id)
      const throughSeq =
        beforeMessage === undefined
          ? (turn?.beforeSeq ?? seq)
          : await placeBeforeMessage(log, session.id, beforeMessage)
      const fork = await sessions.fork(session, { contact, throughSeq })
      await dependencies.onForked(fork)
      return fork
    }),
    /** Summarizes the oldest part now. False if there was too little to summarize or the summary failed. */
    compact: ofQuiet((session) =>
      runner.betweenTurns(session.id, (signal): Promise<boolean> => compaction.compact(session, signal)),
    ),
    sessions: (userId: string, options?: { includeArchived?: boolean }) => sessions.list(userId, options),
    keptSessions: (userId: string) => sessions.kept(userId),
    /** By id, or the newest active one with this contact; with archived ones, the newest of them where none is active. */
    async findSession(
      userId: string,
      idOrContact: string,
      { includeArchived = false }: { includeArchived?: boolean } = {},
    ): Promise<Session | undefined> {
      const hasName = (session: Session) => session.contact === idOrContact
      const found = (await sessions.get(userId, idOrContact)) ?? (await sessions.list(userId)).find(hasName)
      if (found || !includeArchived) return found
      return (await sessions.list(userId, { includeArchived, limit: maxArchivedSearched })).find(hasName)
    },
    history: ofOwn(async ({ id }, range?: { after?: number; limit?: number }) => (await log.read(id, range)).events),
    events: ofOwn(({ id: sessionId }, cursor: string, signal: AbortSignal) =>
      streamEvents({ log, live: dependencies.live }, { sessionId, cursor, signal }),
    ),
    historyBack: ofOwn(({ id }, range: BackRange) => log.readBack(id, range)),
    /** The events of one turn, in order; empty for an unknown turn. */
    turnEvents: ofOwn(({ id }, turnId: string) => log.readTurn(id, turnId)),
    /** The newest part of the stream, or the part before a position of the log; `events` continues at `cursor`. */
    pastEvents: ofOwn(async ({ id, lastSeq }, range: BackRange) => {
      const path = pathOf(await log.readJumps(id), lastSeq)
      return tellPast(await log.readBackOn(id, { ...range, path }), { path, lastSeq })
    }),
    contextReport: ofOwn(async (session): Promise<ContextReport> => {
      const role = dependencies.roleOf(session)
      return reportContext({
        projection: await openSessions.projection(session.id),
        system: role.system(settings.profileOf(session.channel)),
        tools: role.tools,
        thresholdTokens: await compaction.threshold(session),
      })
    }),
    /** The sub-agents of the conversation, finished ones included, oldest first. */
    spawns: ofOwn(({ id, userId }) => dependencies.subagents.list(userId, id)),
  }
}

/** The position in the log before a message and those of the same turn. */
async function placeBeforeMessage(log: SessionLog, sessionId: string, messageId: string): Promise<number> {
  const found = await findMessage(log, sessionId, messageId)
  const turn = found.turnId === null ? [] : await log.readTurn(sessionId, found.turnId)
  return (turn[0]?.seq ?? found.seq) - 1
}

/** Most callers look for a recent message, so the search starts at the end. */
export async function findMessage(log: SessionLog, sessionId: string, messageId: string): Promise<LoggedEvent> {
  let before: number | undefined
  do {
    const events = await log.readBack(sessionId, { before, limit: pageSize })
    const found = events.find((event) => event.type === 'message_received' && event.messageId === messageId)
    if (found) return found
    before = events[0]?.seq
  } while (before !== undefined && before > 1)
  throw new FamiliarError('not_found', 'There is no such message in this session')
}
