import { formatDuration, formatUsd, plural } from '../base/format.ts'
import { type OutboxReply, outboxReplySchema } from '../protocol/outbox-api.ts'
import type { CommandHandler } from './command.ts'
import { withFamiliar } from './connect.ts'

export const status: CommandHandler<object> = async (context, input) => {
  const { homePath, output } = context
  const [reply, daemon, { counts }] = await withFamiliar(
    context,
    async (client, connection) =>
      [
        await client.status(),
        connection.daemon,
        await client.transport.ask('/outbox?limit=1', outboxReplySchema),
      ] as const,
  )
  const address = daemon ? { pid: daemon.pid, url: daemon.url } : null
  if (input.json) {
    output.printJson({ ...reply, outbox: counts, daemon: address, home: homePath })
    return undefined
  }
  const { stats } = reply
  const rows = [['Daemon', address ? `${address.url}, process ${address.pid}` : 'not running (familiar serve)']]
  if (address) rows.push(['Up for', formatDuration(reply.uptime_seconds * 1_000)])
  if (stats) {
    rows.push(
      ['Model', stats.model],
      ['Sessions', plural(stats.sessions, 'active session')],
      ['Turns', `${stats.turns_running} running, ${plural(stats.messages_waiting, 'message')} waiting`],
      ['Today', costToday(stats)],
    )
  }
  const undelivered = describeUndelivered(counts)
  if (undelivered !== '') rows.push(['Outbox', undelivered])
  rows.push(['Home', homePath])
  output.print(output.style('bold', `${reply.name} ${reply.version}`))
  output.printTable(rows.map(([name = '', value = '']) => [output.style('dim', name), value]))
  return undefined
}

/** Empty where all that was to be sent has arrived. */
function describeUndelivered({ pending, sending, unknown, failed }: OutboxReply['counts']): string {
  const told = [
    [pending + sending, 'waiting'],
    [unknown, 'of unknown outcome'],
    [failed, 'failed'],
  ] as const
  const parts = told.flatMap(([count, what]) => (count > 0 ? [`${count} ${what}`] : []))
  return parts.length === 0 ? '' : `${parts.join(', ')} (familiar outbox)`
}

function costToday(stats: { cost_today_usd: number; calls_today: number; unpriced_calls_today: number }): string {
  const unpriced = stats.unpriced_calls_today > 0 ? `, ${stats.unpriced_calls_today} of them without a price` : ''
  return `${formatUsd(stats.cost_today_usd)} in ${plural(stats.calls_today, 'model call')}${unpriced}`
}
