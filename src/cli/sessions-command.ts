import { formatCount, formatTime } from '../base/format.ts'
import type { CommandHandler } from './command.ts'
import { withFamiliar } from './connect.ts'

export const sessions: CommandHandler<{ all?: boolean }> = async (context, input) => {
  const { output } = context
  const list = await withFamiliar(context, (client) => client.sessions({ archived: input.all === true }))
  if (input.json) {
    output.printJson({ sessions: list })
    return undefined
  }
  if (list.length === 0) {
    output.print('There are no sessions yet. Begin one with: familiar send "Hello"')
    return undefined
  }
  output.printTable(
    list.map((session) => [
      session.contact,
      session.channel,
      session.state,
      formatCount(session.events),
      formatCount(session.last_input_tokens),
      formatTime(session.updated_at),
      session.id,
    ]),
    { header: ['Session', 'Channel', 'State', 'Events', 'Tokens', 'Last event', 'Id'] },
  )
  return undefined
}
