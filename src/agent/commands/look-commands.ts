import type { CostPeriod } from '../../cost/report.ts'
import { type Command, done, misused, never } from './command.ts'
import type { CommandServices } from './command-services.ts'
import { formatTokens, plural } from './command-text.ts'
import { describeContext } from './describe-context.ts'
import { sessionHere } from './session-of.ts'

const periods: readonly CostPeriod[] = ['today', 'week', 'month', 'all']

/** What is in the prompt, and what all of it costs. */
export function createLookCommands(
  services: Pick<CommandServices, 'conversations' | 'costReport' | 'pinned' | 'skills'>,
): Command[] {
  const { conversations } = services

  const context: Command = {
    name: 'context',
    usage: '/context',
    summary: 'what fills the context window',
    changesForGood: false,
    agentMay: true,
    acts: never,
    async run(call) {
      const session = await sessionHere(conversations, call)
      return done(describeContext(await conversations.contextReport(call.userId, session.id)))
    },
  }

  const refresh: Command = {
    name: 'refresh',
    usage: '/refresh',
    summary: 'read the files and blocks of the prompt anew',
    changesForGood: false,
    agentMay: true,
    acts: never,
    async run(call) {
      // The files are looked at before every message by themselves.
      await Promise.all([services.skills.reload(), services.pinned.refresh(call.userId)])
      if (call.sessionId === null) return done('Read anew, for the next message.')
      const session = await sessionHere(conversations, call)
      const { blocks } = await conversations.contextReport(call.userId, session.id)
      const read = blocks.filter(({ name, tier }) => name !== 'tools' && (tier === 'stable' || tier === 'semi_stable'))
      const lines = read.map(({ name, tokens }) => `${name} (${formatTokens(tokens)} tokens)`)
      return done(`Read anew, for the next message:\n${lines.join('\n')}`)
    },
  }

  const cost: Command = {
    name: 'cost',
    usage: `/cost [${periods.join(' | ')}]`,
    summary: 'what the models cost',
    changesForGood: false,
    agentMay: true,
    acts: never,
    complete: async () => periods,
    async run({ userId, argument }) {
      const period = periods.find((one) => one === (argument.toLowerCase() || 'today'))
      if (!period) return misused('There is no such period.', cost)
      const report = await services.costReport(userId, period)
      const unpriced = report.unpricedCalls > 0 ? `, ${report.unpricedCalls} of them without a price` : ''
      const lines = report.byModel.map(
        ({ model, calls, costUsd }) => `${model}: ${costUsd === null ? 'unpriced' : formatUsd(costUsd)} in ${calls}`,
      )
      const total = `${formatUsd(report.totalUsd)} in ${plural(report.calls, 'model call')}${unpriced} (${period})`
      return done([total, ...(lines.length > 1 ? lines : [])].join('\n'))
    },
  }
  return [context, refresh, cost]
}

/** Small sums matter here: four places, until cents are what counts. */
function formatUsd(amount: number): string {
  return `$${amount.toFixed(amount !== 0 && Math.abs(amount) < 100 ? 4 : 2)}`
}
