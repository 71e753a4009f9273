import { toUsd } from '../cost/money.ts'
import { FamiliarError } from '../protocol/error.ts'
import type { StreamedEvent, TurnEvent } from '../protocol/event.ts'
import type { LoggedEvent } from '../sessions/session-event.ts'
import type { SessionLog } from '../sessions/session-log.ts'
import type { LivePart, LiveResponses } from './live-responses.ts'

/**
 * A place in a session's stream: everything up to the event `seq` was seen, and of what comes next `offset` characters
 * of a response and `told` of the things that one event tells. So a reader that comes back misses nothing and sees
 * nothing twice, whether a response is still streaming or long since in the log.
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

/** The events of a session from a cursor on, for ever, until the signal aborts. Readers do not disturb each other. */
export async function* streamEvents(
  dependencies: { log: SessionLog; live: LiveResponses },
  options: { sessionId: string; cursor: string; signal: AbortSignal },
): AsyncGenerator<StreamedEvent> {
  const { log, live } = dependencies
  const { sessionId, signal } = options
  const cursor = parseCursor(options.cursor)
  // A response that was seen to its end in the log must not be told again from memory, where it may linger a moment.
  let lastResponseSeq = cursor.offset > 0 ? 0 : cursor.seq

  const transient: TurnEvent[] = []
  let wake = Promise.withResolvers<void>()
  const release = () => wake.resolve()
  const unsubscribe = [
    log.onChange(sessionId, release),
    live.onProgress(sessionId, (event) => {
      transient.push(event)
      release()
    }),
  ]
  signal.addEventListener('abort', release, { once: true })

  try {
    while (!signal.aborted) {
      wake = Promise.withResolvers<void>()
      const { events } = await log.read(sessionId, { after: cursor.seq, limit: pageSize })
      for (const logged of events) {
        yield* tell(logged, cursor)
        if (logged.type === 'model_responded' || logged.type === 'model_failed') lastResponseSeq = logged.seq
      }
      if (events.length === pageSize) continue
      const response = live.get(sessionId)
      if (response && response.afterSeq >= lastResponseSeq && response.afterSeq <= cursor.seq) {
        for (const part of restOf(response.parts, cursor.offset)) {
          cursor.offset += part.text.length
          yield { cursor: formatCursor(cursor), event: deltaOf(part, response.turnId) }
        }
      }
      for (const event of transient.splice(0)) yield { cursor: formatCursor(cursor), event }
      await wake.promise
    }
  } finally {
    for (const stop of unsubscribe) stop()
    signal.removeEventListener('abort', release)
  }
}

/** A part of the log that is over, as its stream told it. `lastSeq` is the newest event of the session. */
export function tellPast(events: readonly LoggedEvent[], lastSeq: number) {
  const first = events[0]?.seq ?? 1
  return {
    events: events.flatMap((logged) => [...tell(logged, { seq: logged.seq - 1, offset: 0, told: 0 })]),
    cursor: formatCursor({ seq: events.at(-1)?.seq ?? lastSeq, offset: 0, told: 0 }),
    before: first > 1 ? first : null,
  }
}

/** Tells one logged event from where the cursor stands in it, and moves the cursor past it. */
function* tell(logged: LoggedEvent, cursor: Cursor): Generator<StreamedEvent> {
  const endsResponse = logged.type === 'model_responded' || logged.type === 'model_failed'
  const events = toTurnEvents(logged, cursor.offset)
  const after = { seq: logged.seq, offset: endsResponse ? 0 : cursor.offset, told: 0 }
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

/** What one logged event tells a watcher. `seenOffset` is how much of a response the watcher had live. */
function toTurnEvents(logged: LoggedEvent, seenOffset = 0): TurnEvent[] {
  const turnId = logged.turnId ?? ''
  switch (logged.type) {
    case 'message_received':
      return [
        {
          type: 'message',
          messageId: logged.messageId,
          text: logged.text,
          sender: logged.sender,
          source: logged.source,
          ...(logged.media.length > 0 && { media: logged.media }),
        },
      ]
    case 'turn_started': {
      const started: TurnEvent[] = [{ type: 'turn_start', turnId, model: logged.model }]
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
    case 'model_failed':
      return [{ type: 'retry', turnId, attempt: logged.attempt, reason: logged.reason, waitMs: logged.waitMs }]
    case 'tool_started': {
      const { callId, name, input, isClients } = logged
      const told: TurnEvent[] = [{ type: 'tool_start', turnId, callId, name, input }]
      const toolCalls = [{ id: callId, name, arguments: input }]
      if (isClients) told.push({ type: 'tool_calls', turnId, toolCalls, meta: { has_tool_calls: true } })
      return told
    }
    case 'tool_finished': {
      const { callId, name, text, isError, says, reaction, card, media, approvalId, question = '' } = logged
      const told: TurnEvent[] = [{ type: 'tool_result', turnId, callId, name, result: text, isError }]
      if (says) told.push({ type: 'said', turnId, text: says })
      if (reaction) told.push({ type: 'reaction', turnId, emoji: reaction })
      if (card) told.push({ type: 'card', turnId, callId, name, card })
      if (media) told.push({ type: 'media', turnId, callId, name, media })
      if (approvalId) told.push({ type: 'approval_request', turnId, callId, approvalId, question })
      return told
    }
    case 'turn_ended': {
      const { text, deliver, outcome, question, toolCalls } = logged
      return [
        { type: 'response', turnId, text, buildId: null, pendingQuestion: question, toolCalls, deliver },
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
    case 'forked':
      return [{ type: 'session_changed', change: 'forked', detail: logged.fromSessionId }]
    case 'reset':
      return [{ type: 'session_changed', change: 'reset', detail: '' }]
    case 'model_notified':
    case 'stop_requested':
      return []
    default:
      logged satisfies never
      return []
  }
}
