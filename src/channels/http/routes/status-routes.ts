import { type Activity, stateOf } from '../../../monitor/monitor.ts'
import {
  type CostReply,
  costQuerySchema,
  costReplySchema,
  type MonitorReply,
  monitorReplySchema,
  type StatusReply,
  statusReplySchema,
} from '../../../protocol/api.ts'
import { usageReply } from '../chat-reply.ts'
import { callerOf } from '../guards/token-guard.ts'
import type { HttpDependencies } from '../http-dependencies.ts'
import { isoTime } from '../iso-time.ts'
import { jsonReply } from '../json-reply.ts'
import { defineRoute, type Route } from '../route.ts'

/** How Familiar is, what it does and what it costs. */
export function createStatusRoutes(dependencies: HttpDependencies): Route[] {
  const { conversations, costReport } = dependencies

  async function statsFor(userId: string, model: string): Promise<StatusReply['stats']> {
    const [cost, sessions] = await Promise.all([costReport(userId, 'today'), conversations.sessions(userId)])
    const { running, waiting } = conversations.load()
    return {
      model,
      sessions: sessions.length,
      turns_running: running,
      messages_waiting: waiting,
      cost_today_usd: cost.totalUsd,
      calls_today: cost.calls,
      unpriced_calls_today: cost.unpricedCalls,
    }
  }

  return [
    defineRoute({
      method: 'GET',
      path: '/api/v1/status',
      summary: 'Whether it is up; with a token also what it does and what it cost today.',
      auth: 'optional',
      scope: 'read',
      reply: { status: 200, schema: statusReplySchema },
      async handle({ context }) {
        const { name, version, uptimeSeconds, model } = dependencies.status()
        const health: StatusReply = { ok: true, name, version, uptime_seconds: uptimeSeconds }
        const caller = context.get('caller')
        return jsonReply(caller ? { ...health, stats: await statsFor(caller.userId, model) } : health)
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/api/v1/cost',
      summary: 'What the models cost, by model.',
      auth: 'token',
      scope: 'read',
      query: costQuerySchema,
      reply: { status: 200, schema: costReplySchema },
      async handle({ context, query }) {
        const report = await costReport(callerOf(context).userId, query.period)
        const reply: CostReply = {
          period: report.period,
          total_usd: report.totalUsd,
          calls: report.calls,
          unpriced_calls: report.unpricedCalls,
          by_model: report.byModel.map((row) => ({
            model: row.model,
            calls: row.calls,
            ...usageReply(row),
            cost_usd: row.costUsd,
          })),
        }
        return jsonReply(reply)
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/api/v1/monitor',
      summary: 'Your turns under way at this moment.',
      auth: 'token',
      scope: 'read',
      reply: { status: 200, schema: monitorReplySchema },
      async handle({ context }) {
        const { userId } = callerOf(context)
        const { updatedAt, turns: all } = dependencies.monitor()
        // The monitor knows of everybody's turns, and of no users: whose they are, the sessions tell.
        const sessions = await Promise.all(all.map(({ sessionId }) => conversations.findSession(userId, sessionId)))
        const own = all.flatMap((turn, index) => {
          const session = sessions[index]
          return session ? [{ turn, channel: session.channel }] : []
        })
        const reply: MonitorReply = {
          state: stateOf(own.map(({ turn }) => turn)),
          updated_at: isoTime(updatedAt),
          turns: own.map(({ turn, channel }) => activityReply(turn, channel)),
        }
        return jsonReply(reply)
      },
    }),
  ]
}

function activityReply(activity: Activity, channel: string): MonitorReply['turns'][number] {
  return {
    session_id: activity.sessionId,
    channel,
    contact: activity.contact,
    turn_id: activity.turnId,
    state: activity.state,
    model: activity.model,
    round: activity.round,
    tools: activity.tools,
    input_tokens: activity.inputTokens,
    output_tokens: activity.outputTokens,
    started_at: isoTime(activity.startedAt),
    updated_at: isoTime(activity.updatedAt),
  }
}
