import { errorType } from '../base/telemetry/metrics.ts'
import { type Telemetry, timed } from '../base/telemetry/telemetry.ts'
import { reasonOf } from '../base/text.ts'
import { setNewest, type Work, type WorkContext } from '../base/work.ts'
import { FamiliarError } from '../protocol/errors.ts'
import { isWorkChannel } from '../protocol/messages.ts'
import type { RecallForTurn } from './context.ts'
import type { ConversationDependencies } from './conversations.ts'
import {
  HeldElsewhere,
  type JobResult,
  type TurnJob,
  type TurnKind,
  type TurnQueue,
  turnKindOf,
} from './coordination.ts'
import type { TurnWaiters } from './event-stream.ts'
import type { Inbox, InboxMessage } from './sessions/inbox.ts'
import type { Session } from './sessions/sessions.ts'
import { type EndedTurn, type TurnRun, TurnSuspended, type Turns } from './turn.ts'

const storageRetryMs = 2_000

export type Runner = ReturnType<typeof createRunner>

/** Runs turns: queues messages, resumes interrupted turns, retries after a full disk, and does the work between turns. */
export function createRunner(dependencies: ConversationDependencies, waiters: TurnWaiters) {
  const { coordination, log, openSessions, sessions, inbox, ledger, turns } = dependencies
  const { clock, ids, logger, settings, onStep } = dependencies
  const running = new Map<string, { turnId: string; controller: AbortController; isWork: boolean }>()
  /** Compactions and snapshots in progress. */
  const tending = new Map<string, { controller: AbortController; done: Promise<unknown> }>()
  let closing = false

  const { debounceMs } = settings
  const createQueue = (kind: TurnKind, maxConcurrent: number) =>
    coordination.createQueue(kind, { clock, debounceMs, maxConcurrent, run: runJob })
  const queues: Readonly<Record<TurnKind, TurnQueue>> = {
    talk: createQueue('talk', settings.maxConcurrentTurns),
    work: createQueue('work', settings.maxConcurrentWork),
    helpers: createQueue('helpers', settings.maxConcurrentSubagents),
  }
  const queueOf = (channel: string) => queues[turnKindOf(channel)]
  coordination.onStop(({ sessionId, turnId }) => {
    const turn = running.get(sessionId)
    if (turn?.turnId === turnId) turn.controller.abort(new Error('Stopped by the user'))
  })

  async function runJob(sessionId: string, job: TurnJob): Promise<JobResult> {
    const session = job.kind === 'draft' ? job.session : await sessionOf(job.userId, sessionId)
    if (!session) return { retryAfterMs: storageRetryMs, job }
    const turnId = job.kind === 'resume' ? job.turnId : ids.next()
    const controller = new AbortController()
    const run: TurnRun = {
      session,
      turnId,
      signal: controller.signal,
      suspended: () => closing,
      guard: (writer) => coordination.guard(writer, sessionId),
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
    if (!closing && dependencies.roleOf(session).remembers) dependencies.learning.afterTurn(session)
    await afterTurn(session)
    return 'done'
  }

  function tellEnded(session: Session, { messageIds, end }: EndedTurn): void {
    waiters.settle(messageIds, end)
    dependencies.onTurnEnded(session, end)
  }

  async function sessionOf(userId: string, sessionId: string): Promise<Session | undefined> {
    try {
      const session = await sessions.get(userId, sessionId)
      if (session) openSessions.catchUp(session)
      return session
    } catch (cause) {
      logger.error('could not read a session; its turn waits', { session: sessionId, error: reasonOf(cause) })
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
    // The request to stop may be in the log before the turn is.
    const hasStarted = (events: readonly { type: string }[]) => events.some(({ type }) => type === 'turn_started')
    const begun = await log.readTurn(run.session.id, run.turnId).then(hasStarted, () => true)
    if (job.kind === 'draft' && !begun) {
      job.written.reject(cause)
      return 'done'
    }
    const resume: TurnJob = { kind: 'resume', userId: run.session.userId, turnId: run.turnId }
    const retry = { retryAfterMs: storageRetryMs, job: begun ? resume : job }
    if (cause instanceof FamiliarError && cause.code === 'storage_full') return retry
    if (!begun && job.kind === 'messages') {
      const rest = await stillWaiting(run.session.id, job.messages).catch(() => job.messages)
      if (rest.length === 0) return 'done'
      if (rest.length < job.messages.length) return { retryAfterMs: 0, job: { ...job, messages: rest } }
    }
    logger.error('a turn failed', { turn: run.turnId, session: run.session.id, error: reasonOf(cause) })
    if (!begun) return retry
    try {
      const ended = await turns.fail(run, 'An internal error occurred. Please try again. The log has details.')
      if (ended) tellEnded(run.session, ended)
      return 'done'
    } catch (second) {
      logger.error('a failed turn could not be ended', { turn: run.turnId, error: reasonOf(second) })
      return retry
    }
  }

  /**
   * The messages of a turn that could not start, without those that no longer wait here: a reset moved them to another
   * session, where they are queued, or the user canceled them.
   */
  async function stillWaiting(sessionId: string, messages: readonly InboxMessage[]): Promise<InboxMessage[]> {
    const waiting = await inbox.waitingOf(messages)
    for (const message of waiting) if (message.sessionId !== sessionId) queueOf(message.source).add(message)
    return waiting.filter((message) => message.sessionId === sessionId)
  }

  /** Runs work that belongs between turns: compaction, snapshots. */
  async function betweenTurns<T>(sessionId: string, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
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

  /** An error here must not undo the turn that has ended. */
  async function afterTurn(session: Session): Promise<void> {
    try {
      await betweenTurns(session.id, async (signal) => {
        // Work in the background has no further turn.
        if (!closing && !isWorkChannel(session.channel)) await dependencies.compaction.afterTurn(session, signal)
        await openSessions.settle(session.id)
      })
      onStep('snapshot_saved')
    } catch (cause) {
      openSessions.forget(session.id)
      logger.error('work after a turn failed', { session: session.id, error: reasonOf(cause) })
    }
  }

  return {
    /** Resumes the work of an earlier run: interrupted turns first, then queued messages. */
    recover: (): Promise<{ resumedTurns: number; queuedMessages: number }> => coordination.recover({ inbox, ledger }),
    isClosing: (): boolean => closing,
    add: (message: InboxMessage) => queueOf(message.source).add(message),
    /** Whether `runDraft` is possible at all: the queue is in this process. */
    startsAtOnce: coordination.stateIn === 'memory',
    /** Starts the turn of a message that is not stored yet. Resolves when it is; undefined if the session is busy. */
    runDraft(session: Session, draft: InboxMessage): Promise<void> | undefined {
      const written = Promise.withResolvers<void>()
      const job: TurnJob = { kind: 'draft', session, draft, written }
      return queueOf(session.channel).runNow(session.id, job) ? written.promise : undefined
    },
    /** Moves the waiting messages of an archived session to its successor. */
    move: (from: Session, to: Session) => queueOf(from.channel).move(from.id, to.id),
    remove(message: { messageId: string; sessionId: string }) {
      for (const queue of Object.values(queues)) queue.remove(message)
    },
    /** At this daemon or another one. */
    runningTurn: async (sessionId: string): Promise<string | undefined> =>
      running.get(sessionId)?.turnId ?? (await coordination.runningElsewhere(sessionId)),
    /** Aborts the turn on any daemon. The stop request is already in the log. */
    abort(turn: { sessionId: string; turnId: string }) {
      running.get(turn.sessionId)?.controller.abort(new Error('Stopped by the user'))
      coordination.tellStop(turn)
    },
    betweenTurns,
    settled: async (sessionId: string) => void (await tending.get(sessionId)?.done),
    /** Turns under way and messages that wait; `waitingHere` are those of the named session. */
    load: (sessionId?: string): { running: number; waiting: number; waitingHere: number } => ({
      running: queues.talk.load().running,
      waiting: coordination.depth.inAll(),
      waitingHere: sessionId === undefined ? 0 : queues.talk.waitingIn(sessionId),
    }),
    /** Ends the running steps (cut off after `graceMs`) and begins no further one. */
    async close(graceMs: number) {
      closing = true
      dependencies.onClosing()
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

/**
 * The same turns, each in a span: everything that happens in a turn belongs to it, and its duration and outcome are
 * counted. A turn that a stop interrupts is two spans, and is counted once.
 */
export function watchTurns(turns: Turns, telemetry: Telemetry, origins: MessageOrigins): Turns {
  function watch(run: TurnRun, origin: Work, task: () => Promise<EndedTurn | undefined>) {
    const { session, turnId } = run
    // The kind of agent. The name that the user gave it is not recorded.
    const agent = isWorkChannel(session.channel) ? session.channel : 'familiar'
    const labels = { 'gen_ai.agent.name': agent }
    const measured = {
      operation: 'invoke_agent',
      target: agent,
      kind: 'internal',
      attributes: {
        'gen_ai.operation.name': 'invoke_agent',
        ...labels,
        'gen_ai.conversation.id': session.id,
        'familiar.turn.id': turnId,
        ...(origin.request !== undefined && { 'familiar.request.id': origin.request }),
      },
      metric: 'gen_ai.invoke_agent.duration',
      labels,
      failureOf(ended: EndedTurn | undefined) {
        if (!ended) return null
        return ended.end.outcome === 'failed' ? (ended.end.failure ?? 'internal') : undefined
      },
      // A suspended turn continues at another daemon or after the next start, and ends there.
      errorOf: (cause: unknown) =>
        cause instanceof TurnSuspended || cause instanceof HeldElsewhere ? null : errorType(cause),
    } as const
    return telemetry.work.apart({ ...origin, session: session.id, turn: turnId }, () =>
      timed(telemetry, measured, async (span) => {
        const ended = await task()
        if (!ended) return undefined
        const { outcome, rounds, toolCalls, usage } = ended.end
        span.set({
          'familiar.turn.outcome': outcome,
          'familiar.turn.rounds': rounds,
          'familiar.turn.tool_calls': toolCalls.length,
          'gen_ai.usage.input_tokens': usage.inputTokens,
          'gen_ai.usage.output_tokens': usage.outputTokens,
        })
        telemetry.add('familiar.turns', { ...labels, 'familiar.turn.outcome': outcome })
        return ended
      }),
    )
  }

  return {
    start: (run, messages, draft) =>
      watch(run, origins.take(messages.map(({ id }) => id)), () => turns.start(run, messages, draft)),
    resume: (run) => watch(run, {}, () => turns.resume(run)),
    fail: (run, text) => watch(run, {}, () => turns.fail(run, text)),
  }
}

/** The same recall, with its duration and how much it found. */
export function watchRecall(recall: RecallForTurn, telemetry: Telemetry): RecallForTurn {
  const measured = {
    operation: 'search_memory',
    kind: 'internal',
    attributes: { 'gen_ai.operation.name': 'search_memory' },
    metric: 'familiar.recall.duration',
    labels: {},
  } as const
  return (query) =>
    timed(telemetry, measured, async (span) => {
      const recalled = await recall(query)
      span.set({ 'familiar.recall.memories': recalled.length })
      return recalled
    })
}

const maxRemembered = 10_000

type MessageOrigins = ReturnType<typeof createMessageOrigins>

/** The request that brought a message, until its turn starts: the end of another turn may start it, which is not its origin. */
export function createMessageOrigins(work: WorkContext) {
  const origins = new Map<string, Work>()

  function remember(messageId: string): void {
    const { request, span } = work.current()
    if (request === undefined && span === undefined) return
    setNewest(origins, messageId, { ...(request !== undefined && { request }), span }, maxRemembered)
  }

  async function admitted(admission: ReturnType<Inbox['admit']>): ReturnType<Inbox['admit']> {
    const { admitted, message } = await admission
    if (admitted) remember(message.id)
    return admission
  }

  return {
    /** The same inbox; the origin of every admitted message is remembered. */
    watch: (inbox: Inbox): Inbox => ({
      ...inbox,
      admit: (...message) => admitted(inbox.admit(...message)),
      admitIn: (...message) => admitted(inbox.admitIn(...message)),
      draft(...message) {
        const draft = inbox.draft(...message)
        remember(draft.id)
        return draft
      },
    }),
    /** The origin, once; empty where the message came through another process or long ago. */
    take(messageIds: readonly string[]): Work {
      const found = messageIds.map((id) => origins.get(id))
      for (const id of messageIds) origins.delete(id)
      return found.find((origin) => origin !== undefined) ?? {}
    },
  }
}
