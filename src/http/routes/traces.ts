import type { z } from 'zod'
import type { Costs, LedgerCall } from '../../agent/costs.ts'
import type { LoggedEvent } from '../../agent/sessions/session-event.ts'
import type { Session } from '../../agent/sessions/sessions.ts'
import { toUsd } from '../../base/money.ts'
import { toDisplayText, truncateText } from '../../base/text.ts'
import { FamiliarError } from '../../protocol/errors.ts'
import * as api from '../../protocol/status.ts'
import { createSessionHandler } from '../chat-replies.ts'
import type { HttpDependencies } from '../dependencies.ts'
import type { Route } from '../route.ts'

const messageLength = 300
const eventsAtOnce = 500

type Trace = z.infer<typeof api.traceReplySchema>
type Span = Trace['spans'][number]
type Request = z.infer<typeof api.requestsReplySchema>['requests'][number]

/** Traces of turns, and the requests to models. */
export function createTraceRoutes(dependencies: HttpDependencies, costs: Costs): Route[] {
  const { conversations } = dependencies
  const inSession = createSessionHandler(dependencies)

  async function newestTurn({ id, userId }: Session): Promise<string | null> {
    const events = await conversations.historyBack(userId, id, { limit: eventsAtOnce })
    return events.findLast(({ turnId }) => turnId !== null)?.turnId ?? null
  }

  async function traceOf({ id, userId }: Session, turnId: string): Promise<Trace> {
    const events = await conversations.turnEvents(userId, id, turnId)
    if (events.length === 0) throw new FamiliarError('not_found', 'There is no such turn in the session')
    const calls = await costs.callsOfTurn(userId, turnId)
    const said = events.find((event) => event.type === 'message_received')
    const end = events.findLast((event) => event.type === 'turn_ended')
    return {
      sessionId: id,
      turnId,
      startedAt: events[0]?.at ?? 0,
      endedAt: end?.at ?? null,
      outcome: end?.outcome ?? null,
      message: truncateText(toDisplayText(said?.text ?? ''), messageLength),
      spans: spansOf(events),
      otherCalls: calls.filter((call) => !isStep(call, id)),
    }
  }

  return [
    inSession(api.traces.turn, async ({ session, query }) => {
      const turnId = query.turn ?? (await newestTurn(session))
      return turnId === null ? nothingOf(session) : await traceOf(session, turnId)
    }),
    inSession(api.traces.requests, async ({ userId, session, query }) => {
      const requests: Request[] = []
      let before = query.before
      while (requests.length < query.limit && before !== 1) {
        const events = await conversations.historyBack(userId, session.id, { before, limit: eventsAtOnce })
        const responses = events.filter((event) => event.type === 'model_responded').reverse()
        requests.push(...responses.map((event) => ({ ...event, costUsd: toUsd(event.costNanousd) })))
        before = events[0]?.seq ?? 1
      }
      const shown = requests.slice(0, query.limit)
      const isMore = requests.length > shown.length || before !== 1
      return {
        requests: shown,
        before: isMore ? (shown.at(-1)?.seq ?? null) : null,
      }
    }),
  ]
}

/** Whether the call is a step in the log of the turn. */
function isStep(call: LedgerCall, sessionId: string): boolean {
  return (
    call.sessionId === sessionId &&
    (call.state === 'settled' || call.state === 'estimated') &&
    call.purpose !== 'compaction'
  )
}

function nothingOf({ id }: Session): Trace {
  return {
    sessionId: id,
    turnId: null,
    startedAt: null,
    endedAt: null,
    outcome: null,
    message: '',
    spans: [],
    otherCalls: [],
  }
}

const detailLength = 240

type ToolStarted = Extract<LoggedEvent, { type: 'tool_started' }>

/**
 * The timeline of one turn. The log has the end of each step; a model call starts when the previous step ends, because the
 * two are one commit.
 */
export function spansOf(events: readonly LoggedEvent[]): Span[] {
  const spans: Span[] = []
  const running = new Map<string, ToolStarted>()
  let free = events[0]?.at ?? 0
  let first = ''
  let asked = ''
  let isEnded = false
  let lastSeq = 0

  const add = (span: Partial<Span> & Pick<Span, 'seq' | 'kind' | 'name'>, startedAt: number, endedAt: number | null) =>
    spans.push({ detail: '', isError: false, usage: null, costUsd: null, ...span, startedAt, endedAt })

  for (const event of events) {
    const { seq, at } = event
    lastSeq = seq
    switch (event.type) {
      case 'turn_started':
        first = event.model
        asked = first
        break
      case 'model_responded': {
        const { model, usage, costNanousd } = event
        add({ seq, kind: 'model', name: model, usage, costUsd: toUsd(costNanousd) }, free, at)
        asked = first
        free = at
        break
      }
      case 'model_failed':
        if (event.isQuiet) break
        add({ seq, kind: 'model', name: asked, detail: shown(event.reason), isError: true }, free, at)
        if (event.waitMs > 0)
          add({ seq, kind: 'wait', name: 'Wait', detail: `before try ${event.attempt}` }, at, at + event.waitMs)
        // The event has the model of the next attempt.
        asked = event.model
        free = at + event.waitMs
        break
      case 'tool_started':
        running.set(event.callId, event)
        break
      case 'tool_finished': {
        const started = running.get(event.callId)
        running.delete(event.callId)
        const detail = event.isError ? shown(event.text) : given(started)
        add({ seq, kind: 'tool', name: event.name, detail, isError: event.isError }, started?.at ?? at, at)
        free = Math.max(free, at)
        break
      }
      case 'model_notified':
        add({ seq, kind: 'note', name: 'Asked to finish', detail: shown(event.text) }, at, at)
        break
      case 'stop_requested':
        add({ seq, kind: 'note', name: 'You stopped it' }, at, at)
        break
      case 'turn_ended':
        isEnded = true
        break
      default:
    }
  }
  if (isEnded) return spans
  for (const call of running.values())
    add({ seq: call.seq, kind: 'tool', name: call.name, detail: given(call) }, call.at, null)
  if (running.size === 0 && events.length > 0)
    add({ seq: lastSeq, kind: 'model', name: asked, detail: 'under way' }, free, null)
  return spans
}

function given(call: ToolStarted | undefined): string {
  if (!call) return ''
  const input = shown(JSON.stringify(call.input))
  return call.isClients ? `asked of your client: ${input}` : input
}

function shown(text: string): string {
  return truncateText(toDisplayText(text), detailLength)
}
