import type { Costs, Spent } from '../../agent/costs.ts'
import { toUsd } from '../../base/money.ts'
import { stateOf } from '../../base/telemetry/monitor.ts'
import * as api from '../../protocol/status.ts'
import type { HttpDependencies, HttpHome } from '../dependencies.ts'
import { callerOf } from '../guards.ts'
import { handle, type Route } from '../route.ts'

/** The status of the daemon, its activity and its costs. */
export function createStatusRoutes(dependencies: HttpDependencies): Route[] {
  const { conversations, costReport } = dependencies

  async function statsFor(userId: string, model: string) {
    const [cost, sessions] = await Promise.all([costReport(userId, 'today'), conversations.sessions(userId)])
    const { running, waiting } = conversations.load()
    return {
      model,
      sessions: sessions.length,
      turnsRunning: running,
      messagesWaiting: waiting,
      costTodayUsd: cost.totalUsd,
      callsToday: cost.calls,
      unpricedCallsToday: cost.unpricedCalls,
      estimatedCallsToday: cost.estimatedCalls,
    }
  }

  return [
    handle(api.home.status, async ({ context }) => {
      const status = dependencies.status()
      const caller = context.get('caller')
      return { ok: true, ...status, stats: caller && (await statsFor(caller.userId, status.model)) }
    }),
    handle(api.costs.report, ({ userId, query }) => costReport(userId, query.period)),
    handle(api.home.monitor, async ({ userId }) => {
      const { updatedAt, turns: all } = dependencies.monitor()
      // The monitor has the turns of all users, and no user ids: the sessions tell which are the caller's.
      const sessions = await Promise.all(all.map(({ sessionId }) => conversations.findSession(userId, sessionId)))
      const turns = all.flatMap((turn, index) => {
        const session = sessions[index]
        return session ? [{ ...turn, channel: session.channel }] : []
      })
      return { state: stateOf(turns), updatedAt, turns }
    }),
  ]
}

const maxSessions = 50

/** Spending and budgets. */
export function createCostRoutes(costs: Costs): Route[] {
  return [
    handle(api.costs.spending, async ({ userId, query, signal }) => {
      const spending = await costs.spending(userId, query.period, signal)
      return {
        period: spending.period,
        total: inUsd(spending.total),
        days: spending.days.map(({ day, total, byModel }) => ({
          day,
          total: inUsd(total),
          byModel: byModel.map((line) => ({ ...inUsd(line), tokens: line.inputTokens + line.outputTokens })),
        })),
        byModel: spending.byModel.map(inUsd),
        byPurpose: spending.byPurpose.map(inUsd),
        bySession: spending.bySession.slice(0, maxSessions).map((line) => ({ ...inUsd(line), sessionId: line.name })),
        sessionsLeftOut: Math.max(0, spending.bySession.length - maxSessions),
      }
    }),
    handle(api.costs.caps, async ({ userId }) => {
      const { section, caps } = await costs.caps(userId)
      return {
        section,
        caps: caps.map(({ name, limit, spent, reserved }) => ({
          name,
          limitUsd: limit === null ? null : toUsd(limit),
          spentUsd: toUsd(spent),
          reservedUsd: toUsd(reserved),
        })),
      }
    }),
  ]
}

function inUsd<Sum extends Spent>(sum: Sum): Sum & { costUsd: number } {
  return { ...sum, costUsd: toUsd(sum.nanousd) }
}

/** The state of the home, its configuration and its models. The configuration changes only in its files (SEC-4). */
export function createHomeRoutes(home: HttpHome): Route[] {
  async function doctorReply(network: boolean) {
    const findings = await home.examine({ network })
    return { ok: !findings.some(({ state }) => state === 'fail'), findings }
  }

  return [
    handle(api.home.doctor, () => doctorReply(false)),
    handle(api.home.examine, ({ body }) => doctorReply(body.network)),
    handle(api.home.settings, () => home.settings()),
    handle(api.home.reload, () => home.reload()),
    handle(api.home.models, ({ context }) => {
      const { userId, isOwner } = callerOf(context)
      return home.models(userId, isOwner)
    }),
  ]
}
