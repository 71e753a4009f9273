import type { Clock } from '../base/clock.ts'
import type { Ids } from '../base/ids.ts'
import type { Logger } from '../base/logger.ts'
import type { Context } from '../context/context.ts'
import type { Ledger } from '../cost/ledger.ts'
import type { Approvals } from '../policy/approvals.ts'
import { usualLabel } from '../policy/own-words.ts'
import { FamiliarError } from '../protocol/error.ts'
import type { InboundPayload, Inbox, InboxMessage } from '../sessions/inbox.ts'
import { exchangeStarts } from '../sessions/messages.ts'
import type { OpenSessions } from '../sessions/open-sessions.ts'
import type { SessionEvent } from '../sessions/session-event.ts'
import { HeldElsewhere } from '../sessions/session-holders.ts'
import type { SessionLog } from '../sessions/session-log.ts'
import type { Session, SessionKey, Sessions } from '../sessions/sessions.ts'
import { isWorkChannel } from '../sessions/work-channels.ts'
import type { ToolRegistry } from '../tools/registry.ts'
import type { AnswerApproval } from './answer-approval.ts'
import { checkInbound } from './check-inbound.ts'
import type { ClientCalls } from './client-tools/client-calls.ts'
import { refuseOurNames } from './client-tools/refuse-our-names.ts'
import type { Compaction } from './compaction.ts'
import { reportContext } from './context-report.ts'
import type { Conversations, Receipt, TurnEnd, TurnReply } from './conversations.ts'
import { streamEvents, tellPast } from './event-stream.ts'
import type { Learning } from './learning.ts'
import type { LiveResponses } from './live-responses.ts'
import { placeBeforeMessage } from './place-before-message.ts'
import type { RoleOf } from './role.ts'
import { type SharedTurns, type TurnKind, turnKindOf } from './shared/shared-turns.ts'
import type { OnStep } from './step.ts'
import type { SubagentWork } from './subagents/create-subagents.ts'
import { createTurnQueue, type JobResult, type TurnJob, type TurnQueue } from './turn-queue.ts'
import type { TurnRun } from './turn-run.ts'
import { createTurnWaiters } from './turn-waiters.ts'
import { type EndedTurn, TurnSuspended, type Turns } from './turns.ts'

const storageRetryMs = 2_000
const longestCallMs = 60 * 60_000

export interface ConversationSettings {
  debounceMs: number
  maxConcurrentTurns: number
  /** Beside them: work in the background has places of its own. */
  maxConcurrentWork: number
  /** Beside both: a build that waits for its user must not hold up a sub-agent that a conversation waits for. */
  maxConcurrentSubagents: number
  maxMessageCharacters: number
  tierOf(source: string): string
}

export function createConversations(dependencies: {
  log: SessionLog
  openSessions: OpenSessions
  sessions: Sessions
  inbox: Inbox
  turns: Turns
  compaction: Compaction
  ledger: Ledger
  context: Pick<Context, 'requireTier'>
  roleOf: RoleOf
  tools: Pick<ToolRegistry, 'viewOf'>
  live: LiveResponses
  approvals: Approvals
  answerApproval: AnswerApproval
  clock: Clock
  ids: Ids
  logger: Logger
  settings: ConversationSettings
  /** Told of every turn and every session that has ended; both return at once. */
  learning?: Pick<Learning, 'afterTurn' | 'afterClose'>
  /** Of every turn that this process ends. Returns at once. */
  onTurnEnded?(session: Session, end: TurnEnd): void
  subagents: Pick<SubagentWork, 'list' | 'stopAll'>
  clientCalls: Pick<ClientCalls, 'waitForCalls' | 'answer'>
  /** The daemon begins to stop: calls that wait for what does not come any more let go. */
  onClosing?(): void
  onForked?(session: Session): Promise<void>
  /** Absent: this daemon does all of the work. */
  shared?: SharedTurns
  onStep: OnStep
}): Conversations {
  const { log, openSessions, sessions, inbox, turns, compaction, clientCalls, ids, logger, settings, shared, onStep } =
    dependencies
  const running = new Map<string, { turnId: string; controller: AbortController; isWork: boolean }>()
  /** Compactions and snapshots under way. */
  const tending = new Map<string, { controller: AbortController; done: Promise<unknown> }>()
  const waiters = createTurnWaiters({ log, inbox, isShared: shared !== undefined })
  let closing = false

  const { clock } = dependencies
  const debounceMs = settings.debounceMs
  const createQueue = (kind: TurnKind, maxConcurrent: number) => {
    const options = { clock, debounceMs, maxConcurrent, run: runJob }
    return shared?.createQueue(kind, options) ?? createTurnQueue(options)
  }
  const queues: Readonly<Record<TurnKind, TurnQueue>> = {
    talk: createQueue('talk', settings.maxConcurrentTurns),
    work: createQueue('work', settings.maxConcurrentWork),
    helpers: createQueue('helpers', settings.maxConcurrentSubagents),
  }
  shared?.onStop(({ sessionId, turnId }) => {
    const turn = running.get(sessionId)
    if (turn?.turnId === turnId) turn.controller.abort(new Error('Stopped by the user'))
  })

  function queueOf(channel: string): TurnQueue {
    return queues[turnKindOf(channel)]
  }

  async function runJob(sessionId: string, job: TurnJob): Promise<JobResult> {
    const session = job.kind === 'draft' ? job.session : await sessionOf(job.userId, sessionId)
    if (!session) return { retryAfterMs: storageRetryMs, job }
    const turnId = job.kind === 'resume' ? job.turnId : ids.next()
    const controller = new AbortController()
    const guard = shared?.guardOf(sessionId)
    const run: TurnRun = {
      session,
      turnId,
      signal: controller.signal,
      suspended: () => closing,
      ...(guard && { guard }),
    }
    running.set(sessionId, { turnId, controller, isWork: isWorkChannel(session.channel) })
    try {
      const ended = await perform(run, job)
      if (ended) tellEnded(session, ended)
    } catch (cause) {
      running.delete(sessionId)
      return afterFailure(run, job, cause)
    }
    running.delete(sessionId)
    if (!closing && dependencies.roleOf(session).remembers) dependencies.learning?.afterTurn(session)
    await afterTurn(session)
    return 'done'
  }

  function tellEnded(session: Session, { messageIds, end }: EndedTurn): void {
    waiters.settle(messageIds, end)
    dependencies.onTurnEnded?.(session, end)
  }

  async function sessionOf(userId: string, sessionId: string): Promise<Session | undefined> {
    try {
      const session = await sessions.get(userId, sessionId)
      if (shared && session) openSessions.catchUp(session)
      return session
    } catch (cause) {
      logger.error('a session could not be read; its turn waits', { session: sessionId, error: describe(cause) })
      return undefined
    }
  }

  function perform(run: TurnRun, job: TurnJob): Promise<EndedTurn | undefined> {
    switch (job.kind) {
      case 'resume':
        return turns.resume(run)
      case 'messages':
        return turns.start(run, job.messages)
      case 'draft':
        return turns.start(run, [job.draft], { onAdmitted: job.written.resolve })
    }
  }

  async function afterFailure(run: TurnRun, job: TurnJob, cause: unknown): Promise<JobResult> {
    if (cause instanceof TurnSuspended) return 'suspended'
    openSessions.forget(run.session.id)
    if (cause instanceof HeldElsewhere) return 'suspended'
    const begun = await hasBegun(run).catch(() => true)
    if (job.kind === 'draft' && !begun) {
      job.written.reject(cause)
      return 'done'
    }
    const retry = { retryAfterMs: storageRetryMs, job: begun ? resumeOf(run) : job }
    if (cause instanceof FamiliarError && cause.code === 'storage_full') return retry
    if (!begun && job.kind === 'messages' && (await haveMoved(job.messages).catch(() => false))) return 'done'
    logger.error('a turn failed', { turn: run.turnId, session: run.session.id, error: describe(cause) })
    if (!begun) return retry
    try {
      const ended = await turns.fail(run, 'Something went wrong inside Familiar; its log tells more. Please try again.')
      if (ended) tellEnded(run.session, ended)
      return 'done'
    } catch (second) {
      logger.error('a failed turn could not be ended', { turn: run.turnId, error: describe(second) })
      return retry
    }
  }

  /** Whether what was to begin a turn lies in another session since, because its own was reset: then it waits there. */
  async function haveMoved(messages: readonly InboxMessage[]): Promise<boolean> {
    const moved = await inbox.movedOf(messages)
    for (const message of moved) queueOf(message.source).add(message)
    return moved.length > 0
  }

  /**
   * The quick way in for a message that its sender waits for: where its session is at rest, admission and the start of
   * the turn are one commit. Undefined where it must stand in line like any other.
   */
  async function beginAtOnce(key: SessionKey, payload: InboundPayload): Promise<Receipt | undefined> {
    if (shared) return undefined
    const session = await sessions.find(key)
    if (!session) return undefined
    const draft = inbox.draft(session, payload)
    const written = Promise.withResolvers<void>()
    if (!queueOf(key.channel).runNow(session.id, { kind: 'draft', session, draft, written })) return undefined
    waiters.expect(draft.id)
    try {
      await written.promise
    } catch (cause) {
      waiters.forget(draft.id)
      if (cause instanceof FamiliarError && cause.code === 'conflict') return undefined
      throw cause
    }
    onStep('inbox_committed')
    return { messageId: draft.id, sessionId: session.id, duplicate: false }
  }

  function refuseClosing(): void {
    if (closing) throw new FamiliarError('unavailable', 'Familiar is stopping; send this again in a moment')
  }

  /** The message is committed: its turn comes. */
  function takeIn(message: InboxMessage): void {
    waiters.expect(message.id)
    queueOf(message.source).add(message)
  }

  async function hasBegun(run: TurnRun): Promise<boolean> {
    // That it shall stop may be written down before it begins.
    return (await log.readTurn(run.session.id, run.turnId)).some(({ type }) => type === 'turn_started')
  }

  function resumeOf(run: TurnRun): TurnJob {
    return { kind: 'resume', userId: run.session.userId, turnId: run.turnId }
  }

  /** Runs what a session needs between its turns; whoever wants to change the session waits for it. */
  async function tend<T>(sessionId: string, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const controller = new AbortController()
    const done = work(controller.signal)
    const entry = { controller, done: done.catch(() => undefined) }
    tending.set(sessionId, entry)
    try {
      return await done
    } finally {
      if (tending.get(sessionId) === entry) tending.delete(sessionId)
    }
  }

  /** None of this may undo the turn that has ended. */
  async function afterTurn(session: Session): Promise<void> {
    try {
      await tend(session.id, async (signal) => {
        // Nobody goes on with work that has ended.
        if (!closing && !isWorkChannel(session.channel)) await compaction.afterTurn(session, session.channel, signal)
        await openSessions.settle(session.id)
      })
      onStep('snapshot_saved')
    } catch (cause) {
      openSessions.forget(session.id)
      logger.error('work after a turn failed', { session: session.id, error: describe(cause) })
    }
  }

  async function own(userId: string, sessionId: string): Promise<Session> {
    const session = await sessions.get(userId, sessionId)
    if (!session) throw new FamiliarError('not_found', `There is no session ${sessionId}`)
    if (shared) openSessions.catchUp(session)
    return session
  }

  /** Here, or at another daemon. */
  async function runningTurn(sessionId: string): Promise<string | undefined> {
    return running.get(sessionId)?.turnId ?? (await shared?.runningTurn(sessionId))
  }

  async function ownAndQuiet(userId: string, sessionId: string): Promise<Session> {
    const session = await own(userId, sessionId)
    await tending.get(sessionId)?.done
    if ((await runningTurn(sessionId)) !== undefined) {
      throw new FamiliarError('conflict', 'A turn is running in the session; stop it first')
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
    const turnId = await runningTurn(sessionId)
    if (turnId !== undefined) {
      await append(sessionId, { type: 'stop_requested' }, turnId)
      running.get(sessionId)?.controller.abort(new Error('Stopped by the user'))
      shared?.tellStop({ sessionId, turnId })
    }
    const stopped = await dependencies.subagents.stopAll(userId, sessionId)
    return turnId !== undefined || stopped > 0
  }

  async function waitForReply(messageId: string, signal?: AbortSignal): Promise<TurnReply> {
    const over = new AbortController()
    const either = AbortSignal.any([over.signal, ...(signal ? [signal] : [])])
    const place = async () => (await inbox.find(messageId)) ?? { sessionId: '', turnId: null }
    const asked = clientCalls
      .waitForCalls(async () => (await place()).turnId, either)
      .then(async (calls) => {
        const { sessionId, turnId } = await place()
        return { kind: 'asks' as const, sessionId, turnId: turnId ?? '', calls }
      })
    asked.catch(() => undefined)
    try {
      const ended = waiters.wait(messageId, either).then((end) => ({ kind: 'ended' as const, end }))
      ended.catch(() => undefined)
      return await Promise.race([ended, asked])
    } finally {
      over.abort()
    }
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
    async recover() {
      if (shared) {
        // What others have under way is theirs; what nobody can be waiting for any more is nobody's.
        await dependencies.ledger.closeInterrupted({ before: clock.now() - longestCallMs })
        return shared.recover()
      }
      await dependencies.ledger.closeInterrupted()
      const interrupted = await inbox.interruptedTurns()
      const queued = await inbox.queued()
      for (const turn of interrupted) queueOf(turn.channel).addResume(turn)
      // Of work the source is the channel: nobody else speaks there.
      for (const message of queued) queueOf(message.source).add(message)
      return { resumedTurns: interrupted.length, queuedMessages: queued.length }
    },
    async submit(inbound, also) {
      refuseClosing()
      const { userId, channel, contact, key, ...rest } = checkInbound(inbound, settings)
      refuseOurNames(dependencies.tools.viewOf(userId), rest.clientTools ?? [])
      const tier = rest.tier ?? settings.tierOf(rest.source)
      dependencies.context.requireTier(tier)
      const sessionKey = { userId, channel, contact }
      const label = rest.label ?? usualLabel(rest.source)
      const payload = { ...rest, tier, ...(label && { label }) }
      const begun = key === undefined && !also && rest.immediate ? await beginAtOnce(sessionKey, payload) : undefined
      if (begun) return begun
      const admission = await inbox.admit(sessionKey, { ...payload, key: key ?? null }, also)
      onStep('inbox_committed')
      const { message } = admission
      if (admission.admitted) takeIn(message)
      return { messageId: message.id, sessionId: message.sessionId, duplicate: !admission.admitted }
    },
    waitForTurn: (messageId, signal) => waiters.wait(messageId, signal),
    waitForReply,
    async giveToolResults(given) {
      refuseClosing()
      await own(given.userId, given.sessionId)
      const { turnId } = await clientCalls.answer(given)
      return { messageId: await inbox.messageOf(turnId) }
    },
    stop,
    async reset(userId, target) {
      const chosen = await targets(userId, target)
      for (const session of chosen) {
        if (session.state === 'archived') continue
        await stop(userId, session.id)
        const next = await sessions.archive(session, shared?.askForSession)
        openSessions.forget(session.id)
        log.wake(session.id)
        if (next) queueOf(session.channel).move(session.id, next.id)
        dependencies.learning?.afterClose(session)
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
      await dependencies.onForked?.(fork)
      return fork
    },
    async compact(userId, sessionId) {
      const session = await ownAndQuiet(userId, sessionId)
      return tend(sessionId, (signal) => compaction.compact(session, signal))
    },
    sessions: (userId, options) => sessions.list(userId, options),
    async findSession(userId, idOrContact) {
      const byId = await sessions.get(userId, idOrContact)
      return byId ?? (await sessions.list(userId)).find((session) => session.contact === idOrContact)
    },
    async history(userId, sessionId, range) {
      await own(userId, sessionId)
      return (await log.read(sessionId, range)).events
    },
    async events(userId, sessionId, cursor, signal) {
      await own(userId, sessionId)
      return streamEvents(dependencies, { sessionId, cursor, signal })
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
        thresholdTokens: compaction.threshold(session.channel),
      })
    },
    async spawns(userId, sessionId) {
      await own(userId, sessionId)
      return dependencies.subagents.list(userId, sessionId)
    },
    approvals: (userId) => dependencies.approvals.pending(userId),
    async answerApproval(answer) {
      refuseClosing()
      const { approval, message } = await dependencies.answerApproval(answer)
      onStep('inbox_committed')
      if (message) takeIn(message)
      return approval
    },
    load: (sessionId) => ({
      ...queues.talk.load(),
      waitingHere: sessionId === undefined ? 0 : queues.talk.waitingIn(sessionId),
    }),
    async close(graceMs) {
      closing = true
      dependencies.onClosing?.()
      const cancel = clock.after(graceMs, () => {
        for (const { controller } of [...running.values(), ...tending.values()])
          controller.abort(new Error('Familiar is stopping'))
      })
      for (const { controller, isWork } of running.values()) {
        if (isWork) controller.abort(new Error('Familiar is stopping'))
      }
      await Promise.all(Object.values(queues).map((queue) => queue.drain()))
      cancel()
      waiters.close()
    },
  }
}

function describe(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause)
}
