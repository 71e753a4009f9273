import type { Clock } from '../base/clock.ts'
import type { Ids } from '../base/ids.ts'
import type { Logger } from '../base/logger.ts'
import { estimateTokens } from '../base/tokens.ts'
import type { Context, RecalledMemory } from '../context/context.ts'
import type { Ledger, Reservation } from '../cost/ledger.ts'
import { costNanousd } from '../cost/money.ts'
import type { Models } from '../models/models.ts'
import type { Monitor } from '../monitor/monitor.ts'
import type { Approvals } from '../policy/approvals.ts'
import { isOwnWords } from '../policy/own-words.ts'
import type { ToolCallPart } from '../protocol/message.ts'
import type { Inbox, InboxMessage } from '../sessions/inbox.ts'
import { outcomeUnknown, toMessages } from '../sessions/messages.ts'
import type { OpenSessions } from '../sessions/open-sessions.ts'
import type { Projection } from '../sessions/projection.ts'
import type { SessionEvent } from '../sessions/session-event.ts'
import type { SessionLog } from '../sessions/session-log.ts'
import type { TurnState } from '../sessions/turn-state.ts'
import type { Database, Writer } from '../storage/database.ts'
import type { ToolView } from '../tools/registry.ts'
import { CallSuspended, type ToolContext, type ToolOutcome } from '../tools/tool.ts'
import type { BeginCalls, BegunCalls } from './begin-calls.ts'
import { callModel, reserveCall } from './call-model.ts'
import type { CallRecords } from './call-records.ts'
import { chooseModels } from './choose-models.ts'
import type { ClientCalls } from './client-tools/client-calls.ts'
import type { TurnEnd } from './conversations.ts'
import { endingOf } from './ending-of.ts'
import type { ExpandMessage, MessageExpansion } from './expand-message.ts'
import { type LiveResponses, toolProgress } from './live-responses.ts'
import { nextStep, questionOf } from './next-step.ts'
import { offeredTools } from './offered-tools.ts'
import { estimateRequestTokens } from './request-size.ts'
import type { Role, RoleOf } from './role.ts'
import { nextBatch, runTool } from './run-tool.ts'
import { type Said, saidIn, userEntriesOf } from './said-in.ts'
import { giveAnswers, readSpokenAnswers, tellAnswers } from './spoken-answers.ts'
import type { OnStep } from './step.ts'
import { turnEndFrom } from './turn-end.ts'
import { type Ending, notified, received, type TurnEnded, toolFinished, turnEnded } from './turn-events.ts'
import { madeCall, mustStop, payingTurn, planCall, type TurnRun } from './turn-run.ts'
import { withUniqueCallIds } from './unique-call-ids.ts'

export interface TurnsDependencies {
  database: Database
  log: SessionLog
  openSessions: OpenSessions
  inbox: Inbox
  ledger: Ledger
  monitor: Monitor
  /** As the user has them (CLIENT-4). */
  modelsOf: (userId: string) => Models
  roleOf: RoleOf
  clientCalls: Pick<ClientCalls, 'addTo'>
  context: Pick<Context, 'dynamic'>
  live: LiveResponses
  approvals: Approvals
  beginCalls: BeginCalls
  records: CallRecords
  recall(query: { userId: string; sessionId: string; text: string }): Promise<RecalledMemory[]>
  loadMedia(hash: string): Promise<Uint8Array>
  /** Absent: messages stay as they are. */
  expand?: ExpandMessage
  clock: Clock
  ids: Ids
  random: () => number
  logger: Logger
  onStep: OnStep
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
  /** With `onAdmitted` the messages are drafts: they are written with the turn's start, and then it is called. */
  start(run: TurnRun, messages: readonly InboxMessage[], draft?: { onAdmitted(): void }): Promise<EndedTurn | undefined>
  resume(run: TurnRun): Promise<EndedTurn | undefined>
  /** Ends a turn that a fault of our own has stopped, so that its session goes on. */
  fail(run: TurnRun, text: string): Promise<EndedTurn | undefined>
}

/** How a turn ended, for those who wait for one of its messages; undefined where it had ended before. */
export interface EndedTurn {
  messageIds: readonly string[]
  end: TurnEnd
}

export function createTurns(dependencies: TurnsDependencies): Turns {
  const { database, log, openSessions, inbox, ledger, monitor, roleOf, clientCalls, live, approvals, records } =
    dependencies
  const { clock, ids, onStep } = dependencies

  async function record(run: TurnRun, events: SessionEvent[], also?: (writer: Writer) => Promise<void>): Promise<void> {
    const target = { sessionId: run.session.id, turnId: run.turnId }
    const logged = await log.record(target, events, async (writer) => {
      await run.guard?.(writer)
      await also?.(writer)
    })
    openSessions.follow(run.session.id, logged)
  }

  return {
    async start(run, messages, draft) {
      const projection = await openSessions.projection(run.session.id)
      const { source, tier } = messages[0] ?? { source: '', tier: '' }
      const text = messages.map((message) => message.text).join('\n')
      const clientTools = messages.flatMap((message) => message.clientTools ?? [])
      const role = roleIn(run, { clientTools })
      const { userId, id: sessionId } = run.session
      const expansions = await Promise.all(messages.map((message) => expand(run, role, message)))
      const included = expansions.flatMap((expansion) => expansion?.included ?? [])
      const recalled = role.remembers ? await dependencies.recall({ userId, sessionId, text }) : []
      const news = await role.news(run.session)
      const answers = await readSpokenAnswers(approvals, { session: run.session, messages, projection })
      const dynamic = dependencies.context.dynamic({
        now: clock.now(),
        source,
        text,
        recalled,
        pendingQuestion: projection.pendingQuestion,
        told: [
          ...tellAnswers(answers),
          ...(news?.lines ?? []),
          ...expansions.flatMap((expansion) => expansion?.notes ?? []),
        ],
      })
      const isForeign =
        role.holdsUntrusted ||
        news?.isUntrusted ||
        dynamic.included.some(({ label }) => label === 'untrusted') ||
        included.some(({ trust }) => trust === 'untrusted')
      // A question is told with its answer, even where the one before was the same.
      const isKnown = dynamic.text === projection.lastContext && !projection.pendingQuestion
      const context = isKnown ? '' : dynamic.text
      const shown = messages.map(({ media }, at) => ({ media: [...media, ...(expansions[at]?.media ?? [])] }))
      const models = chooseModels(dependencies.modelsOf(userId), role, { source, messages: shown })
      const read = messages.map((message, at) => expansions[at]?.text ?? message.text).join('\n')
      const tokens = requestTokens(role, projection, tier) + estimateTokens(read) + estimateTokens(context)
      const plan = planCall(run, role, { models, inputTokens: tokens })
      const progress: Progress = { startedHere: new Set(), reservation: undefined }
      onStep('turn_starting')
      await record(
        run,
        [
          ...messages.map((message, at) => received(message, expansions[at])),
          {
            type: 'turn_started',
            messageIds: messages.map((message) => message.id),
            source,
            tier,
            model: models[0]?.info.id ?? '',
            context,
            recalled: dynamic.included.map(({ id, text: remembered }) => ({ id, text: remembered })),
            ...(isForeign && { label: 'untrusted' as const }),
            ...((included.length > 0 || role.holdsPrivate(tier)) && { isPrivate: true as const }),
            ...(clientTools.length > 0 && { clientTools }),
          },
        ],
        async (writer) => {
          if (answers) await giveAnswers(writer, approvals, answers)
          await news?.onTold(writer)
          if (draft) for (const message of messages) await inbox.admitRunning(writer, message, run.turnId)
          else {
            const messageIds = messages.map((message) => message.id)
            await inbox.claim(writer, { messageIds, turnId: run.turnId, sessionId })
          }
          progress.reservation = await reserveCall(ledger, writer, plan)
        },
      )
      draft?.onAdmitted()
      onStep('turn_started')
      return drive(run, progress)
    },
    async resume(run) {
      await closeInterrupted(run)
      const { turn, results } = await openSessions.projection(run.session.id)
      if (turn?.id !== run.turnId) {
        // Its end is in the log and only the inbox did not hear of it; both are written together, so this is repair.
        await record(run, [], (writer) => inbox.finish(writer, run.turnId))
        return undefined
      }
      const waiting = turn.calls.every((call) => results[call.id])
      if (waiting && !turn.stopRequested && !questionOf(turn)) {
        await record(run, [{ type: 'model_failed', model: turn.model, attempt: 0, reason: 'restarted', waitMs: 0 }])
      }
      return drive(run, { startedHere: new Set(), reservation: undefined })
    },
    async fail(run, text) {
      await closeInterrupted(run)
      const projection = await openSessions.projection(run.session.id)
      const turn = projection.turn
      if (turn?.id !== run.turnId) return undefined
      const unanswered = turn.calls.filter((call) => !projection.results[call.id])
      return end(run, turn, { outcome: 'failed', text, failure: 'internal', unanswered })
    },
  }

  /** Who answers in the turn, with what its client can do. */
  function roleIn(run: TurnRun, { clientTools = [] }: Pick<TurnState, 'clientTools'>): Role {
    const role = roleOf(run.session)
    return clientTools.length > 0 ? { ...role, tools: clientCalls.addTo(role.tools, clientTools) } : role
  }

  function closeInterrupted(run: TurnRun): Promise<number> {
    return ledger.closeInterrupted({ sessionId: run.session.id, turnId: payingTurn(run, roleOf(run.session)) })
  }

  /** Only what the user wrote themself names their files. */
  async function expand(run: TurnRun, role: Role, message: InboxMessage): Promise<MessageExpansion | undefined> {
    if (!dependencies.expand || !role.remembers || !isOwnWords(message)) return undefined
    try {
      return await dependencies.expand({ userId: run.session.userId, text: message.text, signal: run.signal })
    } catch (error) {
      run.signal.throwIfAborted()
      // The message is answered as it was written, and not tried for ever.
      dependencies.logger.error('what a message names was not put in', { session: run.session.id, error })
      return undefined
    }
  }

  function requestTokens(role: Role, projection: Projection, tier: string): number {
    return estimateRequestTokens(projection, role.system(tier), offeredTools(role.tools, projection.foundTools))
  }

  async function drive(run: TurnRun, progress: Progress): Promise<EndedTurn | undefined> {
    try {
      for (;;) {
        const projection = await openSessions.projection(run.session.id)
        const turn = projection.turn
        if (turn?.id !== run.turnId) return undefined
        if (mustStop(run) && !turn.stopRequested) {
          await record(run, [{ type: 'stop_requested' }])
          continue
        }
        const unanswered = turn.calls.filter((call) => !projection.results[call.id])
        const step = nextStep(turn, unanswered.length, roleOf(run.session))
        if (step.do === 'end') {
          return await end(run, turn, { ...step, unanswered })
        }
        if (run.suspended()) throw new TurnSuspended()
        if (step.do === 'run_tools') await runTools(run, projection, { turn, unanswered, progress })
        else if (step.notices.length > 0) await record(run, step.notices.map(notified))
        else {
          const ended = await askModel(run, turn, projection, progress)
          if (ended) return ended
        }
      }
    } finally {
      live.end(run.session.id)
      monitor.end(run.turnId)
      if (progress.reservation?.ok) await ledger.release(progress.reservation.id)
    }
  }

  async function askModel(
    run: TurnRun,
    turn: TurnState,
    projection: Projection,
    progress: Progress,
  ): Promise<EndedTurn | undefined> {
    const userEntries = userEntriesOf(projection, turn)
    const role = roleIn(run, turn)
    const system = role.system(turn.tier)
    const offered = offeredTools(role.tools, projection.foundTools)
    const inputTokens = estimateRequestTokens(projection, system, offered)
    const models = chooseModels(dependencies.modelsOf(run.session.userId), role, {
      source: turn.source,
      messages: userEntries,
    })
    const plan = planCall(run, role, { models, inputTokens })
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
    const { model, response, reserved } = result
    const parts = withUniqueCallIds(response.parts, projection, ids)
    const { usage, stopReason } = response
    const rates = model.info.costPerMtok
    const responded: SessionEvent = {
      type: 'model_responded',
      model: model.info.id,
      parts,
      stopReason,
      usage,
      costNanousd: costNanousd(usage, rates),
    }
    // The first calls are written as begun together with the response that makes them: one commit, not two.
    const calls = parts.filter((part) => part.type === 'tool_call')
    const batch = stopReason === 'end' || turn.stopRequested ? [] : nextBatch(role.tools, calls)
    const ending = batch.length > 0 || turn.stopRequested ? undefined : endingOf(role, turn, { stopReason, parts })
    const ended = ending && turnEnded(turn, ending, projection.seen)
    const lastInputTokens = usage.inputTokens + usage.outputTokens
    await begin(run, projection, { turn, calls: batch, progress, lastInputTokens }, async (writer) => {
      await ledger.settle(writer, reserved, usage, rates)
      if (ended) await inbox.finish(writer, run.turnId)
      return ended ? [responded, ended] : [responded]
    })
    live.end(run.session.id)
    onStep('response_recorded')
    if (!ended) return undefined
    onStep('turn_ended')
    return endedTurn(run, turn, ended)
  }

  /** Writes the calls as begun, those that may, after whatever `before` writes and tells in the same unit. */
  async function begin(
    run: TurnRun,
    projection: Projection,
    what: { turn: TurnState; calls: readonly ToolCallPart[]; progress: Progress; lastInputTokens?: number },
    before: (writer: Writer) => Promise<SessionEvent[]> = async () => [],
  ): Promise<ToolCallPart[]> {
    const { turn, calls, progress, lastInputTokens } = what
    const { id: sessionId, userId } = run.session
    const { userText } = saidIn(projection, turn)
    const { tools, cannotAsk = false } = roleIn(run, turn)
    const asked = {
      userId,
      sessionId,
      turnId: turn.id,
      source: turn.source,
      userText,
      seen: projection.seen,
      calls,
      tools,
      cannotAsk,
    }
    const target = { sessionId, turnId: turn.id, ...(lastInputTokens !== undefined && { lastInputTokens }) }
    let begun: BegunCalls = { events: [], begun: [] }
    const logged = await log.decide(target, async (writer) => {
      await run.guard?.(writer)
      const events = await before(writer)
      begun = await dependencies.beginCalls(writer, asked)
      return [...events, ...begun.events]
    })
    openSessions.follow(sessionId, logged)
    for (const call of begun.begun) progress.startedHere.add(call.id)
    return begun.begun
  }

  /** The call to the model was aborted: for a stop the turn ends with what was said, for a shutdown it waits. */
  async function stopped(run: TurnRun, partialText: string): Promise<EndedTurn> {
    const { turn } = await openSessions.projection(run.session.id)
    if (!mustStop(run) || turn?.id !== run.turnId) throw new TurnSuspended()
    const text = partialText ? `${partialText}\n\n[Stopped.]` : 'Stopped.'
    return end(run, turn, { outcome: 'stopped', text })
  }

  async function runTools(
    run: TurnRun,
    projection: Projection,
    state: { turn: TurnState; unanswered: readonly ToolCallPart[]; progress: Progress },
  ): Promise<void> {
    const { turn, unanswered, progress } = state
    const { startedHere } = progress
    const { tools } = roleIn(run, turn)
    const batch = nextBatch(tools, unanswered)
    const said = saidIn(projection, turn)
    const interrupted = batch.filter((call) => turn.started[call.id] === 'at-most-once' && !startedHere.has(call.id))
    if (interrupted.length > 0) {
      const unknown = interrupted.map((call) => toolFinished(call, { text: outcomeUnknown, isError: true }))
      return record(run, unknown, (writer) => abandon(writer, run, said, interrupted, outcomeUnknown))
    }
    const fresh = batch.filter((call) => !turn.started[call.id])
    const begunNow = fresh.length > 0 ? await begin(run, projection, { turn, calls: fresh, progress }) : []
    const begun = batch.filter((call) => !fresh.includes(call) || begunNow.includes(call))
    if (begun.length === 0) return
    for (const call of begun) startedHere.add(call.id)
    const names = begun.map((call) => call.name)
    monitor.update(turn.id, { sessionId: run.session.id, state: 'tools', tools: names })
    onStep('tool_starting')
    const seen = { ...projection.seen }
    let left = unanswered.filter((call) => !projection.results[call.id]).length
    const outcomes = await Promise.allSettled(
      begun.map(async (call) => {
        const startedAt = clock.now()
        const outcome = await runOne(run, tools, call, { ...said, seen })
        const durationMs = clock.now() - startedAt
        onStep('tool_ran')
        left -= 1
        // With the last result the next call to the model is certain, and its money is set aside in the same commit.
        const goesOn = left === 0 && !outcome.question && !questionOf(turn)
        const reserve = goesOn ? reserveNext(run, turn, projection, outcome.text) : undefined
        await record(run, [toolFinished(call, outcome)], async (writer) => {
          await records.finishedIn(writer, madeCall(run, said, call), outcome, durationMs)
          if (reserve) progress.reservation = await reserve(writer)
        })
        onStep('tool_recorded')
      }),
    )
    const failed = outcomes.find((outcome) => outcome.status === 'rejected')
    if (!failed || run.signal.aborted) return
    throw failed.reason instanceof CallSuspended ? new TurnSuspended() : failed.reason
  }

  function runOne(
    run: TurnRun,
    tools: ToolView,
    call: ToolCallPart,
    known: Said & Pick<ToolContext, 'seen'>,
  ): Promise<ToolOutcome> {
    return runTool(tools, call, {
      userId: run.session.userId,
      sessionId: run.session.id,
      turnId: run.turnId,
      callId: call.id,
      ...known,
      signal: run.signal,
      progress: (data) => live.progress(run.session.id, toolProgress(run.turnId, call.id, call.name, data)),
    })
  }

  async function abandon(writer: Writer, run: TurnRun, said: Said, calls: readonly ToolCallPart[], why: string) {
    for (const call of calls) await records.abandonedIn(writer, madeCall(run, said, call), why)
  }

  function reserveNext(run: TurnRun, turn: TurnState, projection: Projection, result: string) {
    const role = roleIn(run, turn)
    const inputTokens = requestTokens(role, projection, turn.tier) + estimateTokens(result)
    const messages = userEntriesOf(projection, turn)
    const models = chooseModels(dependencies.modelsOf(run.session.userId), role, { source: turn.source, messages })
    const plan = planCall(run, role, { models, inputTokens })
    return (writer: Writer) => reserveCall(ledger, writer, plan)
  }

  async function end(
    run: TurnRun,
    turn: TurnState,
    ending: Ending & { unanswered?: readonly ToolCallPart[] },
  ): Promise<EndedTurn> {
    const { unanswered = [] } = ending
    const projection = await openSessions.projection(run.session.id)
    const cut = unanswered.map((call) => toolFinished(call, { text: cutOff, isError: true }))
    const begun = unanswered.filter((call) => turn.started[call.id])
    const said = saidIn(projection, turn)
    const ended = turnEnded(turn, ending, projection.seen)
    await record(run, [...cut, ended], async (writer) => {
      await abandon(writer, run, said, begun, cutOff)
      await inbox.finish(writer, run.turnId)
    })
    onStep('turn_ended')
    return endedTurn(run, turn, ended)
  }
}

const cutOff = 'Stopped before it finished.'

/** `turn` has been followed to its end by now: it is the same object that the projection held. */
function endedTurn(run: TurnRun, turn: TurnState, ended: TurnEnded): EndedTurn {
  return { messageIds: turn.messageIds, end: turnEndFrom(run.session.id, turn, ended) }
}
