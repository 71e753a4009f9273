import { formatTime } from '../../base/format.ts'
import type { CommandHandler } from '../command.ts'
import { withTelegram } from './with-telegram.ts'

/** `familiar telegram pair`: the code alone goes to standard output. */
export const pair: CommandHandler<{ user?: string }> = async (context, input) => {
  const { output } = context
  const made = await withTelegram(context, (telegram) => telegram.makeCode(input.user ? { user: input.user } : {}))
  if (input.json) {
    output.printJson(made)
    return undefined
  }
  output.print(made.code)
  output.note(`Send this to the bot: /pair ${made.code}`)
  if (made.link) output.note(`Or open: ${made.link}`)
  output.note(`Whoever sends it first speaks as ${made.user}. It holds once, until ${formatTime(made.expires_at)}.`)
  return undefined
}
