import type { Costs } from '../../../cost/costs.ts'
import { toUsd } from '../../../cost/money.ts'
import type { Spent } from '../../../cost/spent.ts'
import {
  type CapsReply,
  capsReplySchema,
  type SpendingReply,
  type SpentReply,
  spendingQuerySchema,
  spendingReplySchema,
} from '../../../protocol/cost-api.ts'
import { usageReply } from '../chat-reply.ts'
import { callerOf } from '../guards/token-guard.ts'
import { jsonReply } from '../json-reply.ts'
import { defineRoute, type Route } from '../route.ts'

const mostSessions = 50

/** What was spent on what, and how much may be. */
export function createCostRoutes(costs: Costs): Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/api/v1/cost/spending',
      summary: 'What was spent by day, model, purpose and session.',
      auth: 'token',
      scope: 'read',
      query: spendingQuerySchema,
      reply: { status: 200, schema: spendingReplySchema },
      async handle({ context, query }) {
        const { signal } = context.req.raw
        const spending = await costs.spending(callerOf(context).userId, query.period, signal)
        const named = (lines: (Spent & { name: string })[]) =>
          lines.map((line) => ({ name: line.name, ...spentReply(line) }))
        const reply: SpendingReply = {
          period: spending.period,
          total: spentReply(spending.total),
          days: spending.days.map(({ day, total, byModel }) => ({
            day,
            total: spentReply(total),
            by_model: byModel.map(({ name, calls, inputTokens, outputTokens, nanousd }) => ({
              name,
              calls,
              tokens: inputTokens + outputTokens,
              cost_usd: toUsd(nanousd),
            })),
          })),
          by_model: named(spending.byModel),
          by_purpose: named(spending.byPurpose),
          by_session: spending.bySession
            .slice(0, mostSessions)
            .map((line) => ({ session_id: line.name, ...spentReply(line) })),
          sessions_left_out: Math.max(0, spending.bySession.length - mostSessions),
        }
        return jsonReply(reply)
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/api/v1/cost/caps',
      summary: 'How much may be spent, and how much of that is.',
      auth: 'token',
      scope: 'read',
      reply: { status: 200, schema: capsReplySchema },
      async handle({ context }) {
        const { section, caps } = await costs.caps(callerOf(context).userId)
        const reply: CapsReply = {
          section,
          caps: caps.map(({ name, limit, spent, reserved }) => ({
            name,
            limit_usd: limit === null ? null : toUsd(limit),
            spent_usd: toUsd(spent),
            reserved_usd: toUsd(reserved),
          })),
        }
        return jsonReply(reply)
      },
    }),
  ]
}

function spentReply(spent: Spent): SpentReply {
  return {
    calls: spent.calls,
    unpriced_calls: spent.unpricedCalls,
    ...usageReply(spent),
    cost_usd: toUsd(spent.nanousd),
  }
}
