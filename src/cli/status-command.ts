import type { CommandHandler } from './command.ts'
import { withFamiliar } from './connect.ts'
import { formatDuration, formatUsd, plural } from './format.ts'

export const status: CommandHandler<object> = async (context, input) => {
  const { homePath, output } = context
  const [reply, daemon] = await withFamiliar(
    context,
    async (client, connection) => [await client.status(), connection.daemon] as const,
  )
  const address = daemon ? { pid: daemon.pid, url: daemon.url } : null
  if (input.json) {
    output.printJson({ ...reply, daemon: address, home: homePath })
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
  rows.push(['Home', homePath])
  output.print(output.style('bold', `${reply.name} ${reply.version}`))
  output.printTable(rows.map(([name = '', value = '']) => [output.style('dim', name), value]))
  return undefined
}

function costToday(stats: { cost_today_usd: number; calls_today: number; unpriced_calls_today: number }): string {
  const unpriced = stats.unpriced_calls_today > 0 ? `, ${stats.unpriced_calls_today} of them without a price` : ''
  return `${formatUsd(stats.cost_today_usd)} in ${plural(stats.calls_today, 'model call')}${unpriced}`
}
