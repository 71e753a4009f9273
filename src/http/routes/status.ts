import type { Costs } from '../../agent/costs.ts'
import { stateOf } from '../../base/telemetry/monitor.ts'
import * as setupApi from '../../protocol/setup.ts'
import * as api from '../../protocol/status.ts'
import type { HttpDependencies, HttpHome, HttpSetup } from '../dependencies.ts'
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

/** Spending and budgets. */
export function createCostRoutes(costs: Costs): Route[] {
  return [
    handle(api.costs.spending, ({ userId, query, signal }) => costs.spending(userId, query.period, signal)),
    handle(api.costs.budgets, ({ userId }) => costs.budgets(userId)),
  ]
}

/** The state of the home, its configuration and its models. */
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

/** Connecting models and changing settings. None of these routes names a program or a path (SEC-4a). */
export function createSetupRoutes(setup: HttpSetup): Route[] {
  return [
    handle(setupApi.setup.offers, async () => ({ providers: await setup.offers() })),
    handle(setupApi.setup.tryProvider, ({ body }) => setup.tryProvider(body)),
    handle(setupApi.setup.connect, ({ body }) => setup.connect(body)),
    handle(setupApi.setup.change, ({ params, body }) => setup.change(params.key, body.value)),
    handle(setupApi.setup.telegram, ({ body }) => setup.setTelegram(body)),
  ]
}
