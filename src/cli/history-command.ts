import { formatTime } from '../base/format.ts'
import type { HistoryEvent } from '../protocol/api.ts'
import type { CommandHandler } from './command.ts'
import { withFamiliar } from './connect.ts'
import { findSession } from './find-session.ts'
import { historyPages } from './history-pages.ts'
import { describeEvent } from './log-line.ts'
import type { Output } from './output.ts'

export const history: CommandHandler<{ session: string; full?: boolean }> = async (context, input) => {
  const { output } = context
  const full = input.full === true
  const { session, events } = await withFamiliar(context, async (client) => {
    const session = await findSession(client, input.session)
    return { session, events: (await Array.fromAsync(historyPages(client, session.id, { full }))).flat() }
  })
  if (input.json) {
    output.printJson({ session_id: session.id, events })
    return undefined
  }
  for (const event of events) printEvent(output, event)
  return undefined
}

function printEvent(output: Output, event: HistoryEvent): void {
  if (event.role === null || event.text === null) {
    if (event.data) output.print(output.style('dim', `  ${describeEvent(event)}`))
    return
  }
  const who = event.role === 'user' ? output.style('cyan', 'You') : output.style('green', 'Familiar')
  output.print(`${who} ${output.style('dim', formatTime(event.at))}`)
  output.print(event.text)
  output.print()
}
