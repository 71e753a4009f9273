import { toDisplayText, truncateText } from '../../../base/text.ts'
import type { Costs, LedgerCall } from '../../../cost/costs.ts'
import { toUsd } from '../../../cost/money.ts'
import { FamiliarError } from '../../../protocol/error.ts'
import {
  type RequestsReply,
  requestsQuerySchema,
  requestsReplySchema,
  type TraceReply,
  traceQuerySchema,
  traceReplySchema,
} from '../../../protocol/trace-api.ts'
import type { LoggedEvent } from '../../../sessions/session-event.ts'
import type { Session } from '../../../sessions/sessions.ts'
import { usageReply } from '../chat-reply.ts'
import type { HttpDependencies } from '../http-dependencies.ts'
import { isoTime } from '../iso-time.ts'
import { jsonReply } from '../json-reply.ts'
import { defineRoute, type Route } from '../route.ts'
import { sessionOf } from '../session-reply.ts'
import { spansOf } from '../turn-spans.ts'

const messageLength = 300
const eventsAtOnce = 500

/** What a turn did and when, and what was sent to a model before. */
export function createTraceRoutes(dependencies: HttpDependencies, costs: Costs): Route[] {
  const { conversations } = dependencies

  async function newestTurn({ id, userId }: Session): Promise<string | null> {
    const events = await conversations.historyBack(userId, id, { limit: eventsAtOnce })
    return events.findLast(({ turnId }) => turnId !== null)?.turnId ?? null
  }

  async function traceOf({ id, userId }: Session, turnId: string): Promise<TraceReply> {
    const events = await conversations.turnEvents(userId, id, turnId)
    if (events.length === 0) throw new FamiliarError('not_found', 'There is no such turn in the session')
    const calls = await costs.callsOfTurn(userId, turnId)
    const said = events.find((event) => event.type === 'message_received')
    const end = events.findLast((event) => event.type === 'turn_ended')
    return {
      session_id: id,
      turn_id: turnId,
      started_at: isoTime(events[0]?.at ?? 0),
      ended_at: end ? isoTime(end.at) : null,
      outcome: end?.outcome ?? null,
      message: truncateText(toDisplayText(said?.text ?? ''), messageLength),
      spans: spansOf(events),
      other_calls: calls.filter((call) => !isStep(call, id)).map(callReply),
    }
  }

  return [
    defineRoute({
      method: 'GET',
      path: '/api/v1/sessions/:id/trace',
      summary: 'The steps of one turn on a line of time: calls of the model, tools, waits, with tokens and cost.',
      auth: 'token',
      scope: 'read',
      query: traceQuerySchema,
      reply: { status: 200, schema: traceReplySchema },
      async handle({ context, query }) {
        const session = await sessionOf(dependencies, context)
        const turnId = query.turn ?? (await newestTurn(session))
        return jsonReply(turnId === null ? nothingOf(session) : await traceOf(session, turnId))
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/api/v1/sessions/:id/requests',
      summary:
        'What a session has sent to models, newest first: how much of it was cached and fresh, and what came back.',
      auth: 'token',
      scope: 'read',
      query: requestsQuerySchema,
      reply: { status: 200, schema: requestsReplySchema },
      async handle({ context, query }) {
        const { id, userId } = await sessionOf(dependencies, context)
        const requests: RequestsReply['requests'] = []
        let before = query.before
        while (requests.length < query.limit && before !== 1) {
          const events = await conversations.historyBack(userId, id, { before, limit: eventsAtOnce })
          requests.push(...events.flatMap(requestIn).reverse())
          before = events[0]?.seq ?? 1
        }
        const shown = requests.slice(0, query.limit)
        const isMore = requests.length > shown.length || before !== 1
        return jsonReply({
          requests: shown,
          before: isMore ? (shown.at(-1)?.seq ?? null) : null,
        } satisfies RequestsReply)
      },
    }),
  ]
}

/** The others are in the log of the turn. */
function isStep(call: LedgerCall, sessionId: string): boolean {
  return call.sessionId === sessionId && call.state === 'settled' && call.purpose !== 'compaction'
}

function callReply({
  at,
  sessionId,
  purpose,
  model,
  state,
  usage,
  nanousd,
}: LedgerCall): TraceReply['other_calls'][number] {
  return {
    at: isoTime(at),
    session_id: sessionId,
    purpose,
    model,
    state,
    usage: usageReply(usage),
    cost_usd: nanousd === null ? null : toUsd(nanousd),
  }
}

function requestIn(event: LoggedEvent): RequestsReply['requests'] {
  if (event.type !== 'model_responded') return []
  const { seq, at, turnId, model, usage, costNanousd } = event
  return [
    {
      seq,
      at: isoTime(at),
      turn_id: turnId,
      model,
      usage: usageReply(usage),
      cost_usd: costNanousd === null ? null : toUsd(costNanousd),
    },
  ]
}

function nothingOf({ id }: Session): TraceReply {
  return {
    session_id: id,
    turn_id: null,
    started_at: null,
    ended_at: null,
    outcome: null,
    message: '',
    spans: [],
    other_calls: [],
  }
}
