// Taken from the module, so that tests that replace the global timers do not stop waiting.
import { setImmediate } from 'node:timers/promises'
import type { Language } from '../base/languages.ts'
import { toUsd } from '../base/money.ts'
import { rounds } from '../base/work.ts'
import { listChoices, plainReply } from '../protocol/choices.ts'
import { FamiliarError } from '../protocol/errors.ts'
import type { StreamedEvent, TurnEvent, TurnOutcome } from '../protocol/events.ts'
import type { MediaPart, ToolCallPart } from '../protocol/messages.ts'
import { approvalOutcomeSchema } from '../protocol/permissions.ts'
import { answerHint, listApprovalChoices, stillWaiting } from '../security/approval-texts.ts'
import { approvalSource } from '../security/approvals.ts'
import type { Seen } from '../security/permissions.ts'
import type { AskedApproval, ToolOutcome } from '../tools/tool.ts'
import type { TurnEnd } from './conversations.ts'
import type { Coordination } from './coordination.ts'
import { questionOf } from './next-step.ts'
import type { Range } from './sessions/branches.ts'
import type { Inbox, InboxMessage } from './sessions/inbox.ts'
import { emptyProjection, fold } from './sessions/projection.ts'
import {
  type EventOf,
  isSilentReply,
  type LoggedEvent,
  type SessionEvent,
  type TurnState,
} from './sessions/session-event.ts'
import type { SessionLog } from './sessions/session-log.ts'
import type { MessageExpansion } from './turn.ts'

/**
 * A position in a session's stream: everything up to the event `seq` was read, and of the next event `offset`
 * characters of a response and `told` of its parts. So a reader that reconnects misses nothing and sees nothing twice,
 * whether a response is still streaming or already in the log.
 */
interface Cursor {
  seq: number
  offset: number
  told: number
}

const pageSize = 500

export function parseCursor(text: string): Cursor {
  const match = /^(\d{1,15})(?:\.(\d{1,15}))?(?:\.(\d{1,3}))?$/.exec(text)
  if (!match) {
    throw new FamiliarError('bad_request', `Not a cursor of an event stream: ${JSON.stringify(text.slice(0, 40))}`)
  }
  return { seq: Number(match[1]), offset: Number(match[2] ?? 0), told: Number(match[3] ?? 0) }
}

function formatCursor(cursor: Cursor): string {
  if (cursor.told > 0) return `${cursor.seq}.${cursor.offset}.${cursor.told}`
  return cursor.offset > 0 ? `${cursor.seq}.${cursor.offset}` : `${cursor.seq}`
}

/** The events of a session from a cursor on, until the signal aborts. Readers do not affect each other. */
export async function* streamEvents(
  dependencies: { log: SessionLog; live: LiveResponses },
  options: { sessionId: string; cursor: string; signal: AbortSignal },
): AsyncGenerator<StreamedEvent> {
  const { log, live } = dependencies
  const { sessionId, signal } = options
  const cursor = parseCursor(options.cursor)
  // A response that was already sent from the log must not be sent again from memory, where it may remain for a moment.
  let lastResponseSeq = cursor.offset > 0 ? 0 : cursor.seq

  const transient: TurnEvent[] = []
  function follow(wake: () => void) {
    const unfollow = log.onChange(sessionId, wake)
    const unwatch = live.onProgress(sessionId, (event) => {
      transient.push(event)
      wake()
    })
    return () => {
      unfollow()
      unwatch()
    }
  }

  for await (const _ of rounds(signal, follow)) {
    let isMore = true
    while (isMore && !signal.aborted) {
      const { events } = await log.read(sessionId, { after: cursor.seq, limit: pageSize })
      for (const logged of events) {
        yield* tell(logged, cursor)
        if (endsResponse(logged)) lastResponseSeq = logged.seq
      }
      isMore = events.length === pageSize
    }
    const response = live.get(sessionId)
    if (response && response.afterSeq >= lastResponseSeq && response.afterSeq <= cursor.seq) {
      for (const part of restOf(response.parts, cursor.offset)) {
        cursor.offset += part.text.length
        yield { cursor: formatCursor(cursor), event: deltaOf(part, response.turnId) }
      }
    }
    for (const event of transient.splice(0)) yield { cursor: formatCursor(cursor), event }
  }
}

function endsResponse({ type }: LoggedEvent): boolean {
  return type === 'model_responded' || type === 'model_failed'
}

/** A past part of the chosen branch, as a stream would have sent it. `lastSeq` is the newest event that was considered. */
export function tellPast(
  events: readonly LoggedEvent[],
  { path, lastSeq }: { path: readonly Range[]; lastSeq: number },
) {
  const first = events[0]?.seq ?? 0
  return {
    events: events.flatMap((logged) => [...tell(logged, { seq: logged.seq - 1, offset: 0, told: 0 })]),
    cursor: formatCursor({ seq: lastSeq, offset: 0, told: 0 }),
    before: first > (path[0]?.first ?? 1) ? first : null,
  }
}

/** Yields the rest of one logged event after the cursor, and moves the cursor past it. */
function* tell(logged: LoggedEvent, cursor: Cursor): Generator<StreamedEvent> {
  const events = toTurnEvents(logged, cursor.offset)
  const after = { seq: logged.seq, offset: endsResponse(logged) ? 0 : cursor.offset, told: 0 }
  for (const [index, event] of events.entries()) {
    if (index < cursor.told) continue
    if (index === events.length - 1) yield { cursor: formatCursor(after), event }
    else if (event.type === 'text_delta' || event.type === 'thinking_delta') {
      cursor.offset += event.text.length
      yield { cursor: formatCursor(cursor), event }
    } else yield { cursor: formatCursor({ ...cursor, told: index + 1 }), event }
  }
  Object.assign(cursor, after)
}

function deltaOf(part: LivePart, turnId: string): TurnEvent {
  return { type: part.kind === 'text' ? 'text_delta' : 'thinking_delta', turnId, text: part.text }
}

function restOf(parts: readonly LivePart[], offset: number): LivePart[] {
  let skip = offset
  const rest: LivePart[] = []
  for (const part of parts) {
    const text = part.text.slice(Math.min(skip, part.text.length))
    skip = Math.max(0, skip - part.text.length)
    if (text) rest.push({ kind: part.kind, text })
  }
  return rest
}

function timeOf({ at }: LoggedEvent): string {
  return new Date(at).toISOString()
}

/** The answer that a message reports which was given elsewhere. */
function reportedAnswer(logged: EventOf<'message_received'>) {
  if (logged.source !== approvalSource) return {}
  const { approvalId: id, answer, scope } = logged.metadata
  const outcome = approvalOutcomeSchema.safeParse({ id, answer, scope })
  return outcome.success ? { approval: { ...outcome.data, at: timeOf(logged) } } : {}
}

/** The text of a file stays in the log: a client shows the file itself. */
function withoutText({ reading, ...part }: MediaPart): MediaPart {
  if (!reading) return part
  const { text: _, ...shown } = reading
  return { ...part, reading: shown }
}

/** The events of a stream for one logged event. `seenOffset` is how much of the response the reader already has. */
function toTurnEvents(logged: LoggedEvent, seenOffset = 0): TurnEvent[] {
  const turnId = logged.turnId ?? ''
  switch (logged.type) {
    case 'message_received': {
      const { messageId, text, sender, source } = logged
      const media = logged.media.length > 0 && { media: logged.media.map(withoutText) }
      return [{ type: 'message', messageId, text, sender, source, ...media, ...reportedAnswer(logged) }]
    }
    case 'turn_started': {
      const { model, answers, approvals } = logged
      const told = approvals && { approvals: approvals.map((outcome) => ({ ...outcome, at: timeOf(logged) })) }
      const started: TurnEvent[] = [{ type: 'turn_start', turnId, model, ...(answers && { answers }), ...told }]
      if (logged.recalled.length > 0) started.push({ type: 'memory_recalled', turnId, memories: logged.recalled })
      return started
    }
    case 'model_responded': {
      const spoken = logged.parts.flatMap((part): LivePart[] =>
        part.type === 'tool_call' ? [] : [{ kind: part.type, text: part.text }],
      )
      const costUsd = logged.costNanousd === null ? null : toUsd(logged.costNanousd)
      return [
        ...restOf(spoken, seenOffset).map((part) => deltaOf(part, turnId)),
        { type: 'cost', turnId, model: logged.model, usage: logged.usage, costUsd },
      ]
    }
    case 'model_failed': {
      const { attempt, reason, waitMs, isQuiet } = logged
      return [{ type: 'retry', turnId, attempt, reason, waitMs, ...(isQuiet && { isQuiet }) }]
    }
    case 'tool_started': {
      const { callId, name, input, isClients } = logged
      const told: TurnEvent[] = [{ type: 'tool_start', turnId, callId, name, input }]
      const toolCalls = [{ id: callId, name, arguments: input }]
      if (isClients) told.push({ type: 'tool_calls', turnId, toolCalls, meta: { has_tool_calls: true } })
      return told
    }
    case 'tool_finished': {
      const { callId, name, text, isError, says, reaction, card, media, removedFiles } = logged
      const { approvalId, approval, question = '' } = logged
      const told: TurnEvent[] = [{ type: 'tool_result', turnId, callId, name, result: text, isError }]
      if (says) told.push({ type: 'said', turnId, text: says })
      if (reaction) told.push({ type: 'reaction', turnId, emoji: reaction })
      if (card) told.push({ type: 'card', turnId, callId, name, card })
      if (media || removedFiles) {
        const removed = removedFiles && { removed: removedFiles }
        told.push({ type: 'media', turnId, callId, name, media: media ?? [], ...removed })
      }
      if (approvalId)
        told.push({ type: 'approval_request', turnId, callId, approvalId, question, ...(approval && { approval }) })
      return told
    }
    case 'approval_asked': {
      const { approvalId, question, approval } = logged
      return [{ type: 'approval_request', turnId, callId: approvalId, approvalId, question, approval }]
    }
    case 'turn_ended': {
      const { text, deliver, outcome, question, toolCalls, buildId = null } = logged
      const offered = logged.choices && { pendingChoices: { ...logged.choices, id: turnId } }
      const choices = { ...offered, ...(logged.answerList !== undefined && { answerList: logged.answerList }) }
      return [
        { type: 'response', turnId, text, buildId, pendingQuestion: question, ...choices, toolCalls, deliver },
        { type: 'turn_end', turnId, outcome },
      ]
    }
    case 'context_warned':
      return [{ type: 'context_warning', inputTokens: logged.inputTokens, thresholdTokens: logged.thresholdTokens }]
    case 'compacted':
      return [{ type: 'compaction', beforeTokens: logged.beforeTokens, messages: logged.messages }]
    case 'marked':
      return [{ type: 'session_changed', change: 'marked', detail: logged.name }]
    case 'rewound':
      return [{ type: 'session_changed', change: 'rewound', detail: String(logged.toSeq) }]
    case 'branch_chosen':
      return [{ type: 'session_changed', change: 'branched', detail: String(logged.toSeq) }]
    case 'forked':
      return [{ type: 'session_changed', change: 'forked', detail: logged.fromSessionId }]
    case 'reset':
      return [{ type: 'session_changed', change: 'reset', detail: '' }]
    case 'message_canceled':
      return [{ type: 'session_changed', change: 'canceled', detail: logged.messageId }]
    case 'model_notified':
    case 'stop_requested':
      return []
    default:
      logged satisfies never
      return []
  }
}

interface LivePart {
  kind: 'text' | 'thinking'
  text: string
}

/** A response while it streams in: not yet in the log, and gone from here once it is. */
interface LiveResponse {
  turnId: string
  /** The newest event of the log when the call began: the response will be recorded after it. */
  afterSeq: number
  parts: LivePart[]
  length: number
}

export interface LiveResponses {
  begin(sessionId: string, turnId: string, afterSeq: number): void
  add(sessionId: string, kind: LivePart['kind'], text: string): void
  end(sessionId: string): void
  get(sessionId: string): LiveResponse | undefined
  /** Progress of a tool: sent to current watchers, not stored. */
  progress(sessionId: string, event: Extract<TurnEvent, { type: 'tool_progress' }>): void
  onProgress(sessionId: string, listener: (event: TurnEvent) => void): () => void
}

export function createLiveResponses(wake: (sessionId: string) => void): LiveResponses {
  const responses = new Map<string, LiveResponse>()
  const watchers = new Map<string, Set<(event: TurnEvent) => void>>()
  return {
    begin(sessionId, turnId, afterSeq) {
      responses.set(sessionId, { turnId, afterSeq, parts: [], length: 0 })
    },
    add(sessionId, kind, text) {
      const response = responses.get(sessionId)
      if (!response || !text) return
      const last = response.parts.at(-1)
      if (last?.kind === kind) last.text += text
      else response.parts.push({ kind, text })
      response.length += text.length
      wake(sessionId)
    },
    end: (sessionId) => void responses.delete(sessionId),
    get: (sessionId) => responses.get(sessionId),
    progress(sessionId, event) {
      for (const watcher of watchers.get(sessionId) ?? []) watcher(event)
    },
    onProgress(sessionId, listener) {
      const known = watchers.get(sessionId) ?? new Set()
      known.add(listener)
      watchers.set(sessionId, known)
      return () => {
        known.delete(listener)
        if (known.size === 0) watchers.delete(sessionId)
      }
    },
  }
}

export function received(message: InboxMessage & { isEarly?: true }, expansion?: MessageExpansion): SessionEvent {
  const { isEarly, id, text, media, sender, source, tier, metadata, label, answers } = message
  return {
    type: 'message_received',
    messageId: id,
    text,
    ...(expansion && expansion.text !== text && { expanded: expansion.text }),
    media: [...media, ...(expansion?.media ?? [])],
    sender,
    source,
    tier,
    metadata,
    ...(label && { label }),
    ...(answers !== undefined && { answers }),
    ...(isEarly && { isEarly }),
  }
}

export function toolFinished(
  call: ToolCallPart,
  { serviceFailed: _, timedOut: __, ran: ___, asks: ____, ...outcome }: ToolOutcome,
): SessionEvent {
  return { type: 'tool_finished', callId: call.id, name: call.name, ...outcome }
}

export function approvalAsked({ id, question, approval }: AskedApproval): SessionEvent {
  return { type: 'approval_asked', approvalId: id, question, approval }
}

export type TurnEnded = Extract<SessionEvent, { type: 'turn_ended' }>

export interface Ending {
  outcome: TurnOutcome
  text: string
  failure?: 'provider' | 'timeout' | 'internal'
}

export function turnEnded(
  turn: TurnState,
  { outcome, text, failure }: Ending,
  { seen, language }: { seen: Seen; language: Language },
): TurnEnded {
  const question = outcome === 'question' ? questionOf(turn) : null
  const choices = question !== null && turn.question !== null ? turn.choices : undefined
  const asked = question !== null ? turn.approvals.flatMap(({ shown }) => shown ?? []) : []
  const answerList = choices ? listChoices(choices, answerHint(choices.multiple, language)) : listApprovalChoices(asked)
  // A question is shown, whatever else the model says.
  const deliver = turn.source !== 'system' && (question !== null || !isSilentReply(text))
  const added = deliver ? addedTo(turn, { question, text, language }) : ''
  return {
    type: 'turn_ended',
    outcome,
    text: added ? `${text}\n\n${added}`.trimStart() : text,
    question,
    ...(choices && { choices }),
    ...(answerList && { answerList }),
    toolCalls: turn.toolCalls,
    deliver,
    ...(turn.buildId !== undefined && { buildId: turn.buildId }),
    ...(added && { added }),
    ...(failure && { failure }),
    ...(seen.untrusted && { label: 'untrusted' }),
  }
}

/**
 * The text that is added to the reply. A "yes" always answers the text that the user read last, so an older question is
 * shown again.
 */
function addedTo(
  { leavesOpen, notices, approvals }: TurnState,
  { question, text, language }: { question: string | null; text: string; language: Language },
): string {
  const isAsked = leavesOpen && leavesOpen.approvals.length > 0 && !(leavesOpen.isAside && question !== null)
  const open = isAsked ? leavesOpen.approvals.map((approval) => approval.question).join('\n') : ''
  const again = approvals.map((approval) => approval.question).join('\n')
  const reminder = open && !(notices.length === 0 && text.endsWith(open)) ? stillWaiting(open, language) : ''
  // After a notice the question for approval has to stand last again.
  const last = reminder || (notices.length > 0 && again ? again : '')
  return [...notices.map((notice) => `Note: ${notice}`), last].filter(Boolean).join('\n\n')
}

/** The result for callers that wait, from the turn as it was when it ended. */
export function turnEndFrom(sessionId: string, turn: TurnState, ended: TurnEnded) {
  return {
    turnId: turn.id,
    sessionId,
    outcome: ended.outcome,
    text: plainReply(ended),
    notices: turn.notices,
    question: ended.question,
    choices: ended.choices ? { ...ended.choices, id: turn.id } : null,
    deliver: ended.deliver,
    buildId: ended.buildId ?? null,
    failure: ended.failure ?? null,
    recalled: turn.recalled,
    toolCalls: ended.toolCalls,
    cards: turn.cards,
    attachments: turn.attachments ?? [],
    files: turn.files ?? [],
    model: turn.model,
    rounds: turn.rounds,
    usage: turn.usage,
    /** Null if a model without a price took part. */
    costUsd: turn.costNanousd === null ? null : toUsd(turn.costNanousd),
  }
}

/** The same from the events of the turn; undefined while it has not ended. */
export function turnEndOf(sessionId: string, events: readonly LoggedEvent[]): TurnEnd | undefined {
  const projection = emptyProjection()
  for (const event of events) {
    if (event.type === 'turn_ended' && projection.turn) return turnEndFrom(sessionId, projection.turn, event)
    fold(projection, event)
  }
  return undefined
}

type MessagePlace = NonNullable<Awaited<ReturnType<Inbox['find']>>>

const canceledError = () => new FamiliarError('conflict', 'This message was canceled before a reply')

export type TurnWaiters = ReturnType<typeof createTurnWaiters>

/** Callers in this process that wait for the end of a message's turn. */
export function createTurnWaiters(dependencies: {
  log: SessionLog
  inbox: Inbox
  /** With `tables`, a turn may end at another daemon, and only the log shows it. */
  stateIn: Coordination['stateIn']
}) {
  const { log, inbox } = dependencies
  const followsLog = dependencies.stateIn === 'tables'
  const waiting = new Map<string, Set<PromiseWithResolvers<TurnEnd>>>()
  const expected = new Set<string>()

  /** Looks again whenever something is written to the session; the message may move to another one meanwhile. */
  async function followLog(messageId: string, waiter: PromiseWithResolvers<TurnEnd>, over: AbortSignal): Promise<void> {
    while (!over.aborted) {
      const { sessionId } = await placeOf(messageId)
      for await (const _ of rounds(over, (wake) => log.onChange(sessionId, wake))) {
        // If the turn ended in this process, the waiter is resolved right after the write: then no read is needed.
        await setImmediate()
        if (over.aborted) return
        const place = await placeOf(messageId)
        const end = await endAt(place)
        if (end) return waiter.resolve(end)
        if (place.sessionId !== sessionId) break
      }
    }
  }

  async function placeOf(messageId: string): Promise<MessagePlace> {
    const place = await inbox.find(messageId)
    if (!place) throw new FamiliarError('not_found', `There is no message ${messageId}`)
    return place
  }

  async function endAt({ sessionId, turnId, done }: MessagePlace): Promise<TurnEnd | undefined> {
    if (done && !turnId) throw canceledError()
    return done && turnId ? turnEndOf(sessionId, await log.readTurn(sessionId, turnId)) : undefined
  }

  return {
    /** The message was admitted by this process. If its turn also ends here, waiting for it needs no database read. */
    expect(messageId: string) {
      if (!followsLog) expected.add(messageId)
    },
    forget: (messageId: string) => void expected.delete(messageId),
    async wait(messageId: string, signal?: AbortSignal): Promise<TurnEnd> {
      signal?.throwIfAborted()
      const waiter = Promise.withResolvers<TurnEnd>()
      // It may be rejected before anyone awaits it.
      waiter.promise.catch(() => undefined)
      const waitersOfMessage = waiting.get(messageId) ?? new Set()
      waiting.set(messageId, waitersOfMessage.add(waiter))
      const over = new AbortController()
      signal?.addEventListener('abort', () => waiter.reject(signal.reason), { once: true, signal: over.signal })
      if (followsLog) void followLog(messageId, waiter, over.signal).catch(waiter.reject)
      try {
        // The turn of an unexpected message may have ended before this waiter was added.
        const mayHaveEnded = !followsLog && !expected.has(messageId)
        return (mayHaveEnded && (await endAt(await placeOf(messageId)))) || (await waiter.promise)
      } finally {
        over.abort()
        waitersOfMessage.delete(waiter)
        if (waitersOfMessage.size === 0) waiting.delete(messageId)
      }
    },
    settle(messageIds: readonly string[], end: TurnEnd) {
      for (const messageId of messageIds) {
        expected.delete(messageId)
        for (const waiter of waiting.get(messageId) ?? []) waiter.resolve(end)
      }
    },
    cancel(messageId: string) {
      expected.delete(messageId)
      for (const waiter of waiting.get(messageId) ?? []) waiter.reject(canceledError())
    },
    close() {
      const stopping = new FamiliarError(
        'unavailable',
        'Familiar stopped before this turn ended. The turn continues at the next start',
      )
      for (const waiters of waiting.values()) for (const waiter of waiters) waiter.reject(stopping)
    },
  }
}
