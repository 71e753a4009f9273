import type { Clock } from '../base/clock.ts'
import type { Ids } from '../base/ids.ts'
import type { Logger } from '../base/logger.ts'
import { costNanousd } from '../base/money.ts'
import type { Monitor } from '../base/telemetry/monitor.ts'
import { estimateTokens } from '../base/tokens.ts'
import type { FittingTools } from '../custom-tools/fitting-tools.ts'
import type { LanguageModel, Models } from '../models/model.ts'
import { chosenLabels } from '../protocol/choices.ts'
import type { Label, MediaPart, ToolCallPart, ToolChoice, ToolDefinition } from '../protocol/messages.ts'
import { isOwnWords } from '../security/approvals.ts'
import type { Database, Writer } from '../storage/database.ts'
import { CallSuspended, type ToolContext } from '../tools/tool.ts'
import { type GiveAnswers, type OpenApprovals, readAsks, readSpokenAnswers, tellAnswers } from './admission.ts'
import { type CallPlan, callModel, reserveCall, withUniqueCallIds } from './call-model.ts'
import type { ClientCalls } from './client-calls.ts'
import { type Compaction, estimateMedia, estimateRequestTokens, fitsWindow } from './compaction.ts'
import type { Context, ContextMemory } from './context.ts'
import {
  approvalAsked,
  type Ending,
  type LiveResponses,
  received,
  type TurnEnded,
  toolFinished,
  turnEnded,
  turnEndFrom,
} from './event-stream.ts'
import type { Ledger, Reservation } from './ledger.ts'
import { choiceDue, endingOf, nextStep, type OnStep, questionOf } from './next-step.ts'
import type { Permissions } from './permissions.ts'
import { chooseModels, offeredTools, type Role, type RoleOf } from './roles.ts'
import type { Inbox, InboxMessage } from './sessions/inbox.ts'
import { holdsAddress } from './sessions/known-address.ts'
import type { OpenSessions } from './sessions/open-sessions.ts'
import {
  isEarly,
  outcomeUnknown,
  type Projection,
  readPending,
  spokenIn,
  toMessages,
  type UserEntry,
} from './sessions/projection.ts'
import type { SessionEvent, TurnState } from './sessions/session-event.ts'
import type { SessionLog } from './sessions/session-log.ts'
import type { Session } from './sessions/sessions.ts'
import { languageIn } from './sessions/user-language.ts'
import {
  type BeginCalls,
  type CallRecords,
  type MadeCall,
  nextBatch,
  type RedirectRule,
  runToolCall,
} from './tool-calls.ts'

/** A turn in progress. `signal` aborts for a stop and for a shutdown; `suspended` is true for a shutdown only. */
export interface TurnRun {
  session: Session
  turnId: string
  signal: AbortSignal
  suspended: () => boolean
  /** In every unit that writes to the turn: throws where another daemon runs the session now. */
  guard: (writer: Writer) => Promise<void> | undefined
}

/** How a turn ended, for callers that wait for one of its messages. */
export type EndedTurn = ReturnType<typeof endedTurn>

/** The daemon is stopping: the turn stays as it is in the log and is resumed at the next start. */
export class TurnSuspended extends Error {}

/** A message with the files and blocks that it names in their place (ASSET-6). */
export interface MessageExpansion {
  text: string
  /** Names that were not found, and files that are not shown completely. */
  notes: readonly string[]
  media: readonly MediaPart[]
  /** The origin of every text that was put in. */
  included: readonly { trust: Label }[]
}

/** Must not throw for anything that a message names. It only gets messages that the user wrote. */
export type ExpandMessage = (message: {
  userId: string
  text: string
  signal: AbortSignal
}) => Promise<MessageExpansion>

/** Reads the files of a message: each part comes back with its reading. Throws only where the signal aborts. */
export type ReadAttachments = (message: {
  userId: string
  media: readonly MediaPart[]
  maxTokens: number
  signal: AbortSignal
}) => Promise<MediaPart[]>

/** Results of this process for the turn that are not used yet. */
interface Progress {
  startedHere: Set<string>
  reservation: Reservation | undefined
  /** The history before the turn was summarized, or could not be. That is tried once. */
  compacted?: true
}

const cutOff = 'Stopped before it finished.'

export type Turns = ReturnType<typeof createTurns>

/** Turns, step by step. Every step is committed before the next one starts, and the log alone decides the next step. */
export function createTurns(dependencies: {
  database: Database
  log: SessionLog
  openSessions: OpenSessions
  inbox: Inbox
  ledger: Ledger
  monitor: Monitor
  /** The models that the user may use (CLIENT-4). */
  modelsOf: (userId: string) => Models
  roleOf: RoleOf
  clientCalls: Pick<ClientCalls, 'addTo'>
  context: Pick<Context, 'dynamic'>
  live: LiveResponses
  openApprovals: OpenApprovals
  giveAnswers: GiveAnswers
  /** A message that an answer has admitted to another session. */
  onAdmitted(message: InboxMessage): void
  beginCalls: BeginCalls
  /** How often the user of the session wants to be asked. */
  modeOf: Permissions['modeIn']
  mayFollow: RedirectRule
  records: CallRecords
  compact: Compaction['compact']
  recall(query: { userId: string; sessionId: string; text: string }): Promise<ContextMemory[]>
  fittingTools: FittingTools
  loadMedia(hash: string): Promise<Uint8Array>
  expand: ExpandMessage
  readAttachments: ReadAttachments
  maxAttachmentTokens: () => number
  clock: Clock
  ids: Ids
  random: () => number
  logger: Logger
  onStep: OnStep
}) {
  const { database, log, openSessions, inbox, ledger, monitor, modelsOf, roleOf, live, records } = dependencies
  const { clock, ids, random, logger, onStep } = dependencies

  return { start, resume, fail }

  /** Admits the messages: reads their files, recalls, fixes the context and reserves the first call, in one commit. */
  async function start(run: TurnRun, drafts: readonly InboxMessage[], draft?: { onAdmitted(): void }) {
    const { userId, id: sessionId } = run.session
    const projection = await openSessions.projection(sessionId)
    const { source, tier } = drafts[0] ?? { source: '', tier: '' }
    const text = drafts.map((message) => message.text).join('\n')
    const clientTools = drafts.flatMap((message) => message.clientTools ?? [])
    const toolChoice = drafts.find((message) => message.toolChoice)?.toolChoice
    const role = roleIn(run, { clientTools })

    const expansions = await Promise.all(drafts.map((message) => expand(run, role, message)))
    const read = await Promise.all(drafts.map((message) => withAttachments(run, role, message)))
    const messages = read.map((message) => ({
      ...message,
      ...(isEarly(projection, message) && { isEarly: true as const }),
    }))
    const notes = expansions.flatMap((expansion) => expansion?.notes ?? [])
    const notices = notes.filter(isForUser)
    const included = expansions.flatMap((expansion) => expansion?.included ?? [])

    // A schedule or an answered approval is not a wish for a tool.
    const asked = drafts.flatMap((message) => (isOwnWords(message) ? message.text : [])).join('\n')
    const [recalled, fitting] = role.remembers
      ? await Promise.all([
          dependencies.recall({ userId, sessionId, text }),
          dependencies.fittingTools({ userId, text: asked, offered: projection.foundTools, signal: run.signal }),
        ])
      : [[], []]
    const news = await role.news(run.session)
    const asks = await readAsks(dependencies.openApprovals, { session: run.session, messages, projection })
    const answers = await readSpokenAnswers(dependencies.openApprovals, { session: run.session, messages, projection })
    const pending = readPending(projection, messages.map(spokenIn))
    const choices = pending.answers === null ? null : projection.pendingChoices
    const chosen = choices ? chosenLabels(choices, pending.chosen) : ''
    const dynamic = dependencies.context.dynamic({
      now: clock.now(),
      source,
      text,
      recalled,
      pendingQuestion: pending.answers,
      chosen,
      openQuestion: pending.leavesOpen?.question ?? null,
      told: [...tellAnswers(run.session, answers), ...(news?.lines ?? []), ...notes],
      fitting,
    })
    const isUntrusted =
      role.holdsUntrusted ||
      news?.isUntrusted ||
      dynamic.included.some(({ label }) => label === 'untrusted') ||
      included.some(({ trust }) => trust === 'untrusted')
    // A question is shown with its answer, or with the message that leaves it open, even in the same context as before.
    const isKnown = dynamic.text === projection.lastContext && !pending.answers && !pending.leavesOpen?.question
    const context = isKnown ? '' : dynamic.text

    const shown = messages.map(({ media }, at) => ({ media: [...media, ...(expansions[at]?.media ?? [])] }))
    const models = chooseModels(modelsOf(userId), role, { source, messages: shown })
    const shownText = messages.map((message, at) => expansions[at]?.text ?? message.text).join('\n')
    const filesTokens = shown.reduce((sum, { media }) => sum + estimateMedia(media), 0)
    const inputTokens =
      requestTokens(role, projection, tier) + estimateTokens(shownText) + estimateTokens(context) + filesTokens
    const plan = planCall(run, role, { models, inputTokens })

    const progress: Progress = { startedHere: new Set(), reservation: undefined }
    const messageIds = messages.map((message) => message.id)
    const started: SessionEvent = {
      type: 'turn_started',
      messageIds,
      source,
      tier,
      model: models[0]?.info.id ?? '',
      context,
      recalled: dynamic.included.map(({ id, text: remembered }) => ({ id, text: remembered })),
      ...(isUntrusted && { label: 'untrusted' as const }),
      ...((included.length > 0 || role.holdsPrivate(tier)) && { isPrivate: true as const }),
      ...(notices.length > 0 && { notices }),
      ...(clientTools.length > 0 && { clientTools }),
      ...(toolChoice && { toolChoice }),
      ...(answers && {
        approvals: answers.approvals.map(({ id }) => ({ id, answer: answers.answer, scope: answers.scope })),
      }),
      ...(choices && { answers: { id: choices.id, chosen: pending.chosen.map((at) => chosenLabels(choices, [at])) } }),
    }
    onStep('turn_starting')
    let continued: readonly InboxMessage[] = []
    await commit(
      run,
      [...messages.map((message, at) => received(message, expansions[at])), started, ...asks],
      async (writer) => {
        if (answers) continued = await dependencies.giveAnswers(writer, run.session, answers)
        await news?.onTold(writer)
        if (draft) for (const message of messages) await inbox.admitRunning(writer, message, run.turnId)
        else await inbox.claim(writer, { messageIds, turnId: run.turnId, sessionId })
        progress.reservation = await reserveCall(ledger, writer, plan)
      },
    )
    for (const message of continued) dependencies.onAdmitted(message)
    draft?.onAdmitted()
    onStep('turn_started')
    return drive(run, progress)
  }

  /** An interrupted turn continues with the step that follows from its log. There is no other recovery code. */
  async function resume(run: TurnRun): Promise<EndedTurn | undefined> {
    await closeInterrupted(run)
    const { turn, results } = await openSessions.projection(run.session.id)
    if (turn?.id !== run.turnId) {
      // The log holds its end and the inbox does not. Both are written together, so this is a repair.
      await commit(run, [], (writer) => inbox.finish(writer, run.turnId))
      return undefined
    }
    const waiting = turn.calls.every((call) => results[call.id])
    if (waiting && !turn.stopRequested && !questionOf(turn)) {
      await commit(run, [{ type: 'model_failed', model: turn.model, attempt: 0, reason: 'restarted', waitMs: 0 }])
    }
    return drive(run, { startedHere: new Set(), reservation: undefined })
  }

  async function drive(run: TurnRun, progress: Progress): Promise<EndedTurn | undefined> {
    try {
      for (;;) {
        const projection = await openSessions.projection(run.session.id)
        const turn = projection.turn
        if (turn?.id !== run.turnId) return undefined
        if (mustStop(run) && !turn.stopRequested) {
          await commit(run, [{ type: 'stop_requested' }])
          continue
        }
        const unanswered = turn.calls.filter((call) => !projection.results[call.id])
        const step = nextStep(turn, unanswered.length, roleOf(run.session))
        if (step.do === 'end') return await end(run, turn, { ...step, unanswered })
        if (run.suspended()) throw new TurnSuspended()
        if (step.do === 'run_tools') await runTools(run, projection, { turn, unanswered, progress })
        else if (step.notices.length > 0) {
          const notices = step.notices.map((notice) => ({ type: 'model_notified' as const, ...notice }))
          await commit(run, notices)
        } else {
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

  /** Builds the request, reserves its cost, calls the model, and commits the response with the calls that it starts. */
  async function askModel(
    run: TurnRun,
    turn: TurnState,
    projection: Projection,
    progress: Progress,
  ): Promise<EndedTurn | undefined> {
    const { id: sessionId, contact } = run.session
    const role = roleIn(run, turn)
    const system = role.system(turn.tier)
    const { offered, toolChoice } = demanded(turn, offeredTools(role.tools, projection.foundTools))
    const inputTokens = estimateRequestTokens(projection, system, offered)
    const models = modelsFor(run, role, turn, projection)
    if (models[0] && !fitsWindow(models[0], inputTokens) && (await makeRoom(run, progress))) return undefined

    const plan = planCall(run, role, { models, inputTokens })
    const reservation = progress.reservation ?? (await database.write((writer) => reserveCall(ledger, writer, plan)))
    progress.reservation = undefined
    onStep('call_reserved')

    const activity = { sessionId, contact, model: turn.model, inputTokens }
    monitor.update(turn.id, { ...activity, state: 'thinking', round: turn.rounds + 1, tools: [] })
    live.begin(sessionId, turn.id, projection.seq)
    let streaming = false
    const result = await callModel(
      { ledger, clock, random },
      {
        ...plan,
        reservation,
        request: {
          system,
          messages: toMessages(projection, { mediaOfTurn: turn.id }),
          tools: offered,
          ...(toolChoice && { toolChoice }),
          loadMedia: dependencies.loadMedia,
        },
        signal: run.signal,
        onDelta(kind, text) {
          live.add(sessionId, kind, text)
          if (!streaming) onStep('response_streaming')
          streaming = true
        },
        async onRetry({ attempt, reason, waitMs, model, isQuiet }) {
          if (!isQuiet) monitor.update(turn.id, { sessionId, state: 'retry_wait' })
          live.end(sessionId)
          await commit(run, [{ type: 'model_failed', model, attempt, reason, waitMs, ...(isQuiet && { isQuiet }) }])
          const { seq } = await openSessions.projection(sessionId)
          live.begin(sessionId, turn.id, seq)
        },
      },
    )
    if (!result.ok) {
      if (result.reason === 'aborted') return stopped(run, result.partialText)
      if (result.reason === 'budget')
        return end(run, turn, { outcome: 'budget', text: `I did not call the model. ${result.message}` })
      if (result.reason === 'too_long') return tooLong(run, turn, { progress, models, message: result.message })
      const text = `The model could not answer: ${result.message}`
      return end(run, turn, { outcome: 'failed', text, failure: result.reason })
    }
    onStep('response_received')

    const { model, response, reserved } = result
    const parts = withUniqueCallIds(response.parts, projection, ids)
    const { usage, stopReason, notice } = response
    const { id, costPerMtok: rates } = model.info
    const answer = { parts, stopReason, usage, ...(notice !== undefined && { notice }) }
    const cost = costNanousd(usage, rates)
    const responded: SessionEvent = { type: 'model_responded', model: id, ...answer, costNanousd: cost }
    // The first calls are committed as started together with the response that makes them: one commit, not two.
    const calls = parts.filter((part) => part.type === 'tool_call')
    const batch = turn.stopRequested ? [] : nextBatch(role.tools, calls)
    const ending = batch.length > 0 || turn.stopRequested ? undefined : endingOf(role, turn, response)
    const ended = ending && turnEnded(turn, ending, { seen: projection.seen, language: languageIn(projection) })
    const lastInputTokens = usage.inputTokens + usage.outputTokens
    await begin(run, projection, { turn, calls: batch, progress, lastInputTokens }, async (writer) => {
      await ledger.settle(writer, reserved, usage, rates)
      if (ended) await inbox.finish(writer, run.turnId)
      return ended ? [responded, ended] : [responded]
    })
    live.end(sessionId)
    onStep('response_recorded')
    if (!ended) return undefined
    onStep('turn_ended')
    return endedTurn(run, turn, ended)
  }

  /** Runs the next calls side by side and commits each result as it arrives. */
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
      return commit(run, unknown, (writer) => abandon(writer, run, said, interrupted, outcomeUnknown))
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
        const outcome = await runToolCall(tools, call, {
          userId: run.session.userId,
          sessionId: run.session.id,
          turnId: run.turnId,
          callId: call.id,
          ...said,
          seen,
          signal: run.signal,
          progress(data) {
            const { id: callId, name } = call
            live.progress(run.session.id, { type: 'tool_progress', turnId: run.turnId, callId, name, data })
          },
          mayFollow: async (target) =>
            dependencies.mayFollow({ ...(await gateOf(run, projection)), seen, tools }, call, target),
        })
        const durationMs = clock.now() - startedAt
        onStep('tool_ran')
        left -= 1
        // After the last result the next model call is certain, so its cost is reserved in the same commit.
        const goesOn = left === 0 && !outcome.question && !outcome.asks && !questionOf(turn)
        const plan = goesOn ? planNext(run, turn, projection, outcome.text) : undefined
        await commit(run, [toolFinished(call, outcome), ...(outcome.asks ?? []).map(approvalAsked)], async (writer) => {
          await records.finishedIn(writer, madeCall(run, said, call), outcome, durationMs)
          if (plan) progress.reservation = await reserveCall(ledger, writer, plan)
        })
        onStep('tool_recorded')
      }),
    )
    const failed = outcomes.find((outcome) => outcome.status === 'rejected')
    if (!failed || run.signal.aborted) return
    throw failed.reason instanceof CallSuspended ? new TurnSuspended() : failed.reason
  }

  /** Commits the end of the turn: the reply, the calls that were cut off, the inbox rows as done. */
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
    const ended = turnEnded(turn, ending, { seen: projection.seen, language: languageIn(projection) })
    await commit(run, [...cut, ended], async (writer) => {
      await abandon(writer, run, said, begun, cutOff)
      await inbox.finish(writer, run.turnId)
    })
    onStep('turn_ended')
    return endedTurn(run, turn, ended)
  }

  /** Ends a turn after an internal error, so that its session continues. */
  async function fail(run: TurnRun, text: string): Promise<EndedTurn | undefined> {
    await closeInterrupted(run)
    const projection = await openSessions.projection(run.session.id)
    const turn = projection.turn
    if (turn?.id !== run.turnId) return undefined
    const unanswered = turn.calls.filter((call) => !projection.results[call.id])
    return end(run, turn, { outcome: 'failed', text, failure: 'internal', unanswered })
  }

  /** The model call was aborted: a stop ends the turn with the text so far, a shutdown suspends it. */
  async function stopped(run: TurnRun, partialText: string): Promise<EndedTurn> {
    const { turn } = await openSessions.projection(run.session.id)
    if (!mustStop(run) || turn?.id !== run.turnId) throw new TurnSuspended()
    const text = partialText ? `${partialText}\n\n[Stopped.]` : 'Stopped.'
    return end(run, turn, { outcome: 'stopped', text })
  }

  /** The provider says that the request is longer than its window: summarize and ask once more, or end with an error. */
  async function tooLong(
    run: TurnRun,
    turn: TurnState,
    asked: { progress: Progress; models: readonly LanguageModel[]; message: string },
  ): Promise<EndedTurn | undefined> {
    const model = asked.models[0]?.info.id ?? turn.model
    if (await makeRoom(run, asked.progress)) {
      const reason = `${asked.message}; the conversation before this message is now a summary`
      await commit(run, [{ type: 'model_failed', model, attempt: 1, reason, waitMs: 0 }])
      return undefined
    }
    if (run.signal.aborted) return stopped(run, '')
    const text = `This conversation is too long for ${model}, even with its older part summarized: ${asked.message}. Nothing is lost. Choose a model with a larger window (/model), send less at once, or start a new conversation (/new).`
    return end(run, turn, { outcome: 'failed', text, failure: 'provider' })
  }

  /** Summarizes everything before the turn, once per turn. True where the next request is shorter. */
  async function makeRoom(run: TurnRun, progress: Progress): Promise<boolean> {
    if (progress.compacted) return false
    progress.compacted = true
    const { session, signal, guard } = run
    return dependencies.compact(session, signal, { inTurn: true, guard })
  }

  /** One commit: the events and the writes of `also`. The projection in memory follows. */
  async function commit(run: TurnRun, events: SessionEvent[], also?: (writer: Writer) => Promise<void>): Promise<void> {
    const target = { sessionId: run.session.id, turnId: run.turnId }
    const logged = await log.record(target, events, async (writer) => {
      await run.guard(writer)
      await also?.(writer)
    })
    openSessions.follow(run.session.id, logged)
  }

  /** Commits the calls that may start as started, after the events of `before` in the same unit. */
  async function begin(
    run: TurnRun,
    projection: Projection,
    what: { turn: TurnState; calls: readonly ToolCallPart[]; progress: Progress; lastInputTokens?: number },
    before: (writer: Writer) => Promise<SessionEvent[]> = async () => [],
  ): Promise<ToolCallPart[]> {
    const { turn, calls, progress, lastInputTokens } = what
    const { id: sessionId } = run.session
    const { userText, answers } = saidIn(projection, turn)
    const { tools } = roleIn(run, turn)
    const { id: turnId, source } = turn
    const { seen } = projection
    const said = { userText, answers, seen }
    const asked = {
      ...(await gateOf(run, projection)),
      sessionId,
      turnId,
      source,
      ...said,
      calls,
      tools,
    }
    const target = { sessionId, turnId, ...(lastInputTokens !== undefined && { lastInputTokens }) }
    let begun: ToolCallPart[] = []
    const logged = await log.decide(target, async (writer) => {
      await run.guard(writer)
      const events = await before(writer)
      const made = await dependencies.beginCalls(writer, asked)
      begun = made.begun
      return [...events, ...made.events]
    })
    openSessions.follow(sessionId, logged)
    for (const call of begun) progress.startedHere.add(call.id)
    return begun
  }

  /** The side of the gate that stays the same for all calls of a response. */
  async function gateOf({ session }: TurnRun, projection: Projection) {
    const isKnown = (address: string) => holdsAddress(projection, address)
    const { parentSessionId } = roleOf(session)
    const grantedIn = [session.id, ...(parentSessionId === undefined ? [] : [parentSessionId])]
    const above = parentSessionId === undefined ? projection : await openSessions.projection(parentSessionId)
    const language = () => languageIn(above)
    return {
      userId: session.userId,
      grantedIn,
      isKnown,
      language,
      mode: await dependencies.modeOf(session, parentSessionId),
    }
  }

  async function abandon(writer: Writer, run: TurnRun, said: Said, calls: readonly ToolCallPart[], why: string) {
    for (const call of calls) await records.abandonedIn(writer, madeCall(run, said, call), why)
  }

  /** The role of the session, with the tools that its client brings. */
  function roleIn(run: TurnRun, { clientTools = [] }: Pick<TurnState, 'clientTools'>): Role {
    const role = roleOf(run.session)
    if (clientTools.length === 0) return role
    return { ...role, tools: dependencies.clientCalls.addTo(role.tools, clientTools) }
  }

  function closeInterrupted(run: TurnRun): Promise<number> {
    return ledger.closeInterrupted({ sessionId: run.session.id, turnId: payingTurn(run, roleOf(run.session)) })
  }

  function requestTokens(role: Role, projection: Projection, tier: string): number {
    return estimateRequestTokens(projection, role.system(tier), offeredTools(role.tools, projection.foundTools))
  }

  function modelsFor(run: TurnRun, role: Role, turn: TurnState, projection: Projection): readonly LanguageModel[] {
    const messages = userEntriesOf(projection, turn)
    return chooseModels(modelsOf(run.session.userId), role, { source: turn.source, messages })
  }

  function planNext(run: TurnRun, turn: TurnState, projection: Projection, result: string): CallPlan {
    const role = roleIn(run, turn)
    const inputTokens = requestTokens(role, projection, turn.tier) + estimateTokens(result)
    return planCall(run, role, { models: modelsFor(run, role, turn, projection), inputTokens })
  }

  /** Only text that the user wrote may name their files. */
  async function expand(run: TurnRun, role: Role, message: InboxMessage): Promise<MessageExpansion | undefined> {
    if (!role.remembers || !isOwnWords(message) || message.answers !== undefined) return undefined
    try {
      const { userId } = run.session
      const expansion = await dependencies.expand({ userId, text: message.text, signal: run.signal })
      // A message that is sent again has them already.
      const known = new Set(message.media.map(({ hash }) => hash))
      return { ...expansion, media: expansion.media.filter(({ hash }) => !known.has(hash)) }
    } catch (error) {
      run.signal.throwIfAborted()
      // The message is answered as written, rather than retried without end.
      logger.error('the files that a message names could not be inserted', { session: run.session.id, error })
      return undefined
    }
  }

  /** Files take at most a third of the window: the conversation and the answer need the rest. */
  async function withAttachments(run: TurnRun, role: Role, message: InboxMessage): Promise<InboxMessage> {
    if (message.media.length === 0) return message
    const { userId } = run.session
    const [model] = chooseModels(modelsOf(userId), role, { source: message.source, messages: [message] })
    const window = model?.info.maxContextTokens ?? Number.POSITIVE_INFINITY
    const maxTokens = Math.min(dependencies.maxAttachmentTokens(), Math.floor(window / 3))
    try {
      const media = await dependencies.readAttachments({ userId, media: message.media, maxTokens, signal: run.signal })
      return { ...message, media }
    } catch (error) {
      run.signal.throwIfAborted()
      logger.error('could not read the files of a message', { session: run.session.id, error })
      return message
    }
  }
}

/** Also true for a stop that came before the turn was in the log. */
function mustStop(run: TurnRun): boolean {
  return run.signal.aborted && !run.suspended()
}

function payingTurn(run: TurnRun, { countsTo }: Role): string {
  return countsTo ?? run.turnId
}

function planCall(run: TurnRun, role: Role, call: Pick<CallPlan, 'models' | 'inputTokens'>): CallPlan {
  const { id: sessionId, userId } = run.session
  return { ...call, userId, sessionId, turnId: payingTurn(run, role), purpose: role.purpose }
}

type Said = Pick<ToolContext, 'userText' | 'answers'>

function saidIn(projection: Projection, turn: TurnState): Said {
  // Only the first entry is the user's: the others are the loop's own text to the model.
  const [said] = userEntriesOf(projection, turn)
  // A program sent the message, or the model wrote its words as an option, not the user.
  if (!said || said.isOthers || said.isChoice) return { userText: '', answers: null }
  return { userText: said.texts.join('\n'), answers: turn.answers }
}

function userEntriesOf(projection: Projection, turn: TurnState): UserEntry[] {
  return projection.entries.flatMap((entry) => (entry.role === 'user' && entry.turnId === turn.id ? [entry] : []))
}

function madeCall({ session, turnId }: TurnRun, { userText }: Said, call: ToolCallPart): MadeCall {
  return { userId: session.userId, sessionId: session.id, turnId, userText, call }
}

/** If a client demands any of its tools, ours are left out: the API can only demand "any tool" of the whole list. */
function demanded(turn: TurnState, offered: ToolDefinition[]): { offered: ToolDefinition[]; toolChoice?: ToolChoice } {
  const choice = choiceDue(turn)
  if (choice === undefined) return { offered }
  const names = choice === 'any' ? (turn.clientTools ?? []).map(({ name }) => name) : [choice.name]
  const theirs = offered.filter(({ name }) => names.includes(name))
  if (theirs.length === 0) return { offered }
  return { offered: choice === 'any' ? theirs : offered, toolChoice: choice }
}

/** `@max` is mostly a person and no file: only a name that looks like a path is worth a notice to the user. */
function isForUser(note: string): boolean {
  return /^@(?:@|["'“]|[^\s:]*[./])/.test(note)
}

/** `turn` is the object that the projection held, so it has followed the log to the end of the turn. */
function endedTurn(run: TurnRun, turn: TurnState, ended: TurnEnded) {
  return { messageIds: turn.messageIds, end: turnEndFrom(run.session.id, turn, ended) }
}
