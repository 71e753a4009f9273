import type { Clock } from '../base/clock.ts'
import type { Ids } from '../base/ids.ts'
import type { Logger } from '../base/logger.ts'
import { estimateTokens } from '../base/tokens.ts'
import type { Context, RecalledMemory } from '../context/context.ts'
import type { Ledger, Reservation } from '../cost/ledger.ts'
import { costNanousd } from '../cost/money.ts'
import type { LanguageModel } from '../models/model.ts'
import type { Models } from '../models/models.ts'
import type { Monitor } from '../monitor/monitor.ts'
import type { TurnOutcome } from '../protocol/event.ts'
import type { AssistantPart, ToolCallPart } from '../protocol/message.ts'
import type { Inbox, InboxMessage } from '../sessions/inbox.ts'
import { outcomeUnknown, toMessages } from '../sessions/messages.ts'
import type { OpenSessions } from '../sessions/open-sessions.ts'
import { type Projection, type TurnState, textOf } from '../sessions/projection.ts'
import type { SessionEvent } from '../sessions/session-event.ts'
import type { SessionLog } from '../sessions/session-log.ts'
import type { Session } from '../sessions/sessions.ts'
import { isSilentReply } from '../sessions/silent-reply.ts'
import type { Database, Writer } from '../storage/database.ts'
import type { ToolRegistry } from '../tools/registry.ts'
import { type CallPlan, callModel, reserveCall } from './call-model.ts'
import { type LiveResponses, toolProgress } from './live-responses.ts'
import { type Limits, nextStep } from './next-step.ts'
import { offeredTools } from './offered-tools.ts'
import { estimateRequestTokens } from './request-size.ts'
import { nextBatch, runTool } from './run-tool.ts'
import type { OnStep } from './step.ts'

export interface TurnsDependencies {
  database: Database
  log: SessionLog
  openSessions: OpenSessions
  inbox: Inbox
  ledger: Ledger
  monitor: Monitor
  models: Models
  tools: ToolRegistry
  context: Context
  live: LiveResponses
  recall(query: { userId: string; text: string }): Promise<RecalledMemory[]>
  loadMedia(hash: string): Promise<Uint8Array>
  clock: Clock
  ids: Ids
  random: () => number
  logger: Logger
  limits: () => Limits
  onStep: OnStep
}

/** A turn under way. `signal` aborts for a stop and for a shutdown; `suspended` tells the second from the first. */
export interface TurnRun {
  session: Session
  turnId: string
  signal: AbortSignal
  suspended: () => boolean
}

/** What this process has done for the turn and not yet used up. */
interface Progress {
  startedHere: Set<string>
  reservation: Reservation | undefined
}

/** The daemon is stopping: the turn stays as it is written and goes on at the next start. */
export class TurnSuspended extends Error {}

/**
 * Turns, step by step. Every step is committed before the next one begins, and what the next one is follows from the
 * log alone; so `resume` is nothing but going on.
 */
export interface Turns {
  start(run: TurnRun, messages: readonly InboxMessage[]): Promise<void>
  resume(run: TurnRun): Promise<void>
  /** Ends a turn that a fault of our own has stopped, so that its session goes on. */
  fail(run: TurnRun, text: string): Promise<void>
}

export function createTurns(dependencies: TurnsDependencies): Turns {
  const { database, log, openSessions, inbox, ledger, monitor, tools, live, clock, ids, onStep } = dependencies

  async function record(run: TurnRun, events: SessionEvent[], also?: (writer: Writer) => Promise<void>): Promise<void> {
    const logged = await log.record({ sessionId: run.session.id, turnId: run.turnId }, events, also)
    openSessions.follow(run.session.id, logged)
  }

  return {
    async start(run, messages) {
      const projection = await openSessions.projection(run.session.id)
      const { source, tier } = messages[0] ?? { source: '', tier: '' }
      const text = messages.map((message) => message.text).join('\n')
      const recalled = await dependencies.recall({ userId: run.session.userId, text })
      const now = clock.now()
      const dynamic = dependencies.context.dynamic({
        now,
        source,
        recalled,
        pendingQuestion: projection.pendingQuestion,
      })
      const models = modelsFor(source, messages)
      const tokens = requestTokens(projection, tier) + estimateTokens(text) + estimateTokens(dynamic.text)
      const plan = planCall(run, models, tokens)
      const progress: Progress = { startedHere: new Set(), reservation: undefined }
      onStep('turn_starting')
      await record(
        run,
        [
          ...messages.map(received),
          {
            type: 'turn_started',
            messageIds: messages.map((message) => message.id),
            source,
            tier,
            model: models[0]?.info.id ?? '',
            context: dynamic.text,
            recalled: dynamic.included.map(({ id, text: remembered }) => ({ id, text: remembered })),
          },
        ],
        async (writer) => {
          await inbox.claim(writer, { messageIds: messages.map((message) => message.id), turnId: run.turnId })
          progress.reservation = await reserveCall(ledger, writer, plan)
        },
      )
      onStep('turn_started')
      await drive(run, progress)
    },
    async resume(run) {
      const { turn, results } = await openSessions.projection(run.session.id)
      if (turn?.id !== run.turnId) {
        // Its end is in the log and only the inbox did not hear of it; both are written together, so this is repair.
        await record(run, [], (writer) => inbox.finish(writer, run.turnId))
        return
      }
      const waiting = turn.calls.every((call) => results[call.id])
      if (waiting && !turn.stopRequested) {
        await record(run, [{ type: 'model_failed', model: turn.model, attempt: 0, reason: 'restarted', waitMs: 0 }])
      }
      await drive(run, { startedHere: new Set(), reservation: undefined })
    },
    async fail(run, text) {
      const projection = await openSessions.projection(run.session.id)
      const turn = projection.turn
      if (turn?.id !== run.turnId) return
      const unanswered = turn.calls.filter((call) => !projection.results[call.id])
      await end(run, turn, { outcome: 'failed', text, failure: 'internal', unanswered })
    },
  }

  function modelsFor(
    source: string,
    messages: readonly { media: { mediaType: string }[] }[],
  ): readonly LanguageModel[] {
    const primary = dependencies.models.route('primary', source)
    const hasImage = messages.some((message) => message.media.some((media) => media.mediaType.startsWith('image/')))
    if (!hasImage || primary[0]?.info.supportsVision) return primary
    const vision = dependencies.models.route('vision', source)
    return vision[0]?.info.supportsVision ? vision : primary
  }

  function requestTokens(projection: Projection, tier: string): number {
    const system = dependencies.context.system(tier)
    return estimateRequestTokens(projection, system, offeredTools(tools, projection.foundTools))
  }

  async function drive(run: TurnRun, progress: Progress): Promise<void> {
    try {
      for (;;) {
        const projection = await openSessions.projection(run.session.id)
        const turn = projection.turn
        if (turn?.id !== run.turnId) return
        if (mustStop(run) && !turn.stopRequested) {
          await record(run, [{ type: 'stop_requested' }])
          continue
        }
        const unanswered = turn.calls.filter((call) => !projection.results[call.id])
        const step = nextStep(turn, unanswered.length, dependencies.limits())
        if (step.do === 'end') {
          await end(run, turn, { ...step, unanswered })
          return
        }
        if (run.suspended()) throw new TurnSuspended()
        if (step.do === 'run_tools') await runTools(run, turn, unanswered, progress)
        else if (step.notices.length > 0) await record(run, step.notices.map(notified))
        else await askModel(run, turn, projection, progress)
      }
    } finally {
      live.end(run.session.id)
      monitor.end(run.turnId)
      if (progress.reservation?.ok) await ledger.release(progress.reservation.id)
    }
  }

  async function askModel(run: TurnRun, turn: TurnState, projection: Projection, progress: Progress): Promise<void> {
    const userEntries = projection.entries.flatMap((entry) =>
      entry.role === 'user' && entry.turnId === turn.id ? [entry] : [],
    )
    const system = dependencies.context.system(turn.tier)
    const offered = offeredTools(tools, projection.foundTools)
    const inputTokens = estimateRequestTokens(projection, system, offered)
    const plan = planCall(run, modelsFor(turn.source, userEntries), inputTokens)
    const reservation = progress.reservation ?? (await database.write((writer) => reserveCall(ledger, writer, plan)))
    progress.reservation = undefined
    onStep('call_reserved')
    const activity = { sessionId: run.session.id, contact: run.session.contact, model: turn.model, inputTokens }
    monitor.update(turn.id, { ...activity, state: 'thinking', round: turn.rounds + 1, tools: [] })
    live.begin(run.session.id, turn.id, projection.seq)
    let streaming = false
    const result = await callModel(dependencies, {
      ...plan,
      reservation,
      request: {
        system,
        messages: toMessages(projection, { mediaOfTurn: turn.id }),
        tools: offered,
        loadMedia: dependencies.loadMedia,
      },
      signal: run.signal,
      onDelta(kind, text) {
        live.add(run.session.id, kind, text)
        if (!streaming) onStep('response_streaming')
        streaming = true
      },
      async onRetry({ attempt, reason, waitMs, model }) {
        monitor.update(turn.id, { sessionId: run.session.id, state: 'retry_wait' })
        live.end(run.session.id)
        await record(run, [{ type: 'model_failed', model, attempt, reason, waitMs }])
        const { seq } = await openSessions.projection(run.session.id)
        live.begin(run.session.id, turn.id, seq)
      },
    })
    if (!result.ok) {
      if (result.reason === 'aborted') return stopped(run, result.partialText)
      if (result.reason === 'budget')
        return end(run, turn, { outcome: 'budget', text: `I made no call. ${result.message}` })
      const text = `The model could not answer: ${result.message}`
      return end(run, turn, { outcome: 'failed', text, failure: result.reason })
    }
    onStep('response_received')
    const { model, response, reservationId } = result
    const parts = withUniqueCallIds(response.parts, projection, ids)
    const rates = model.info.costPerMtok
    const cost = costNanousd(response.usage, rates)
    const events: SessionEvent[] = [
      {
        type: 'model_responded',
        model: model.info.id,
        parts,
        stopReason: response.stopReason,
        usage: response.usage,
        costNanousd: cost,
      },
    ]
    // The first calls are written as begun together with the response that makes them: one commit, not two.
    const calls = parts.filter((part) => part.type === 'tool_call')
    const runnable = response.stopReason === 'end' || turn.stopRequested ? [] : nextBatch(tools, calls)
    events.push(...runnable.map(toolStarted))
    const isLast = runnable.length === 0 && !turn.stopRequested
    if (isLast) {
      const ended = {
        ...turn,
        rounds: turn.rounds + 1,
        calls: [],
        stopReason: response.stopReason,
        text: textOf(parts),
      }
      const step = nextStep(ended, 0, dependencies.limits())
      if (step.do === 'end') events.push(turnEnded(turn, step))
    }
    await record(run, events, async (writer) => {
      await ledger.settle(writer, reservationId, response.usage, rates)
      await writer
        .updateTable('sessions')
        .set({ last_input_tokens: response.usage.inputTokens + response.usage.outputTokens })
        .where('id', '=', run.session.id)
        .execute()
      if (isLast) await inbox.finish(writer, run.turnId)
    })
    live.end(run.session.id)
    for (const call of runnable) progress.startedHere.add(call.id)
    onStep('response_recorded')
    if (isLast) onStep('turn_ended')
  }

  /** The call to the model was aborted: for a stop the turn ends with what was said, for a shutdown it waits. */
  async function stopped(run: TurnRun, partialText: string): Promise<void> {
    const { turn } = await openSessions.projection(run.session.id)
    if (!mustStop(run) || turn?.id !== run.turnId) throw new TurnSuspended()
    const text = partialText ? `${partialText}\n\n[Stopped.]` : 'Stopped.'
    await end(run, turn, { outcome: 'stopped', text })
  }

  async function runTools(
    run: TurnRun,
    turn: TurnState,
    unanswered: readonly ToolCallPart[],
    { startedHere }: Progress,
  ): Promise<void> {
    const batch = nextBatch(tools, unanswered)
    const interrupted = batch.filter((call) => turn.started[call.id] === 'at-most-once' && !startedHere.has(call.id))
    if (interrupted.length > 0) {
      const unknown = interrupted.map((call) => toolFinished(call, { text: outcomeUnknown, isError: true }))
      return record(run, unknown)
    }
    const fresh = batch.filter((call) => !turn.started[call.id])
    if (fresh.length > 0) await record(run, fresh.map(toolStarted))
    for (const call of batch) startedHere.add(call.id)
    const names = batch.map((call) => call.name)
    monitor.update(turn.id, { sessionId: run.session.id, state: 'tools', tools: names })
    onStep('tool_starting')
    const outcomes = await Promise.allSettled(batch.map((call) => runOne(run, turn, call)))
    const failed = outcomes.find((outcome) => outcome.status === 'rejected')
    if (!failed || run.signal.aborted) return
    throw failed.reason
  }

  async function runOne(run: TurnRun, turn: TurnState, call: ToolCallPart): Promise<void> {
    const outcome = await runTool(tools, call, {
      userId: run.session.userId,
      sessionId: run.session.id,
      turnId: turn.id,
      callId: call.id,
      signal: run.signal,
      progress: (data) => live.progress(run.session.id, toolProgress(turn.id, call.id, call.name, data)),
    })
    onStep('tool_ran')
    await record(run, [toolFinished(call, outcome)])
    onStep('tool_recorded')
  }

  async function end(
    run: TurnRun,
    turn: TurnState,
    ending: Ending & { unanswered?: readonly ToolCallPart[] },
  ): Promise<void> {
    const { unanswered = [] } = ending
    const cut = unanswered.map((call) => toolFinished(call, { text: 'Stopped before it finished.', isError: true }))
    await record(run, [...cut, turnEnded(turn, ending)], (writer) => inbox.finish(writer, run.turnId))
    onStep('turn_ended')
  }

  function toolStarted(call: ToolCallPart): SessionEvent {
    const effect = tools.find(call.name)?.effect ?? 'idempotent'
    return { type: 'tool_started', callId: call.id, name: call.name, input: call.input, effect }
  }
}

/** Also a stop that came before the turn was written down, and so left no mark in it. */
function mustStop(run: TurnRun): boolean {
  return run.signal.aborted && !run.suspended()
}

function planCall(run: TurnRun, models: readonly LanguageModel[], inputTokens: number): CallPlan {
  const { id: sessionId, userId } = run.session
  return { models, inputTokens, userId, sessionId, turnId: run.turnId, purpose: 'primary' }
}

function notified(notice: { about: 'rounds' | 'failures'; text: string }): SessionEvent {
  return { type: 'model_notified', ...notice }
}

function received(message: InboxMessage): SessionEvent {
  const { id, text, media, sender, source, tier, metadata } = message
  return { type: 'message_received', messageId: id, text, media, sender, source, tier, metadata }
}

function toolFinished(
  call: ToolCallPart,
  outcome: { text: string; isError: boolean; question?: string; foundTools?: string[] },
): SessionEvent {
  return { type: 'tool_finished', callId: call.id, name: call.name, ...outcome }
}

interface Ending {
  outcome: TurnOutcome
  text: string
  failure?: 'provider' | 'timeout' | 'internal'
}

function turnEnded(turn: TurnState, { outcome, text, failure }: Ending): SessionEvent {
  return {
    type: 'turn_ended',
    outcome,
    text,
    question: outcome === 'question' ? turn.question : null,
    toolCalls: turn.toolCalls,
    deliver: turn.source !== 'system' && !isSilentReply(text),
    ...(failure && { failure }),
  }
}

/** Some servers number their calls anew in every response; in one conversation an id may stand for one call only. */
function withUniqueCallIds(parts: readonly AssistantPart[], projection: Projection, ids: Ids): AssistantPart[] {
  const used = new Set<string>()
  return parts.map((part) => {
    if (part.type !== 'tool_call') return part
    const taken = !part.id || used.has(part.id) || projection.results[part.id] !== undefined
    const id = taken ? `call_${ids.next()}` : part.id
    used.add(id)
    return { ...part, id }
  })
}
