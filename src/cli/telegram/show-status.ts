import { formatTime } from '../../base/format.ts'
import type { TelegramStatusReply } from '../../protocol/telegram-api.ts'
import type { CommandHandler } from '../command.ts'
import { withTelegram } from './with-telegram.ts'

const words: Record<TelegramStatusReply['state'], string> = {
  off: 'off',
  starting: 'starting',
  listening: 'on',
  waiting: 'Telegram is not reached; it is tried again',
  conflict: 'another program reads the same bot; it is tried again',
  refused: 'off until the next start',
}

/** `familiar telegram status`. */
export const showStatus: CommandHandler<object> = async (context, input) => {
  const { output } = context
  const status = await withTelegram(context, (telegram) => telegram.status())
  if (input.json) {
    output.printJson(status)
    return undefined
  }
  const { state, bot, problem, last_update_at } = status
  output.print(`Telegram: ${words[state]}${bot ? `, as @${bot.username}` : ''}`)
  if (problem) output.print(`Why: ${problem}`)
  if (last_update_at) output.print(`Last heard: ${formatTime(last_update_at)}`)
  return undefined
}
