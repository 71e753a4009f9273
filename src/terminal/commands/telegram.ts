import { formatTime } from '../../base/text.ts'
import { type TelegramStatusReply, telegram } from '../../protocol/channels.ts'
import type { CommandHandler } from '../command.ts'
import { withApi } from '../connect.ts'

/** `familiar telegram remove ID`. */
export const unpair: CommandHandler<{ id: string }> = async (context, input) => {
  const { id } = await withApi(context, telegram, (api) => api.unpair({ id: input.id }), once)
  return context.output.report(input.json, { id }, `${id} is blocked.`)
}

// Nothing is repeated after a lost connection.
const once = { once: true }

/** `familiar telegram list`: those of the config first. */
export const listContacts: CommandHandler<object> = async (context, input) => {
  const { output } = context
  const { contacts } = await withApi(context, telegram, (api) => api.contacts(), once)
  if (input.json) return output.printJson({ contacts })
  if (contacts.length === 0) {
    output.note('No Telegram contacts yet. Add one: familiar telegram pair')
    return undefined
  }
  output.printTable(
    contacts.map(({ id, user, name, paired_at }) => [
      String(id),
      user,
      name,
      paired_at === null ? 'in the config' : formatTime(paired_at),
    ]),
    { header: ['Id', 'User', 'Name', 'Paired'] },
  )
  return undefined
}

/** `familiar telegram pair`: only the code goes to standard output. */
export const pair: CommandHandler<{ user?: string }> = async (context, input) => {
  const { output } = context
  const made = await withApi(context, telegram, (api) => api.makeCode({ user: input.user || undefined }), once)
  if (input.json) return output.printJson(made)
  output.print(made.code)
  output.note(`Send this to the bot: /pair ${made.code}`)
  if (made.link) output.note(`Or open: ${made.link}`)
  output.note(`The first person to send it becomes ${made.user}. Valid once, until ${formatTime(made.expires_at)}.`)
  return undefined
}

const words: Record<TelegramStatusReply['state'], string> = {
  off: 'off',
  starting: 'starting',
  listening: 'on',
  waiting: 'Telegram cannot be reached; retrying',
  conflict: 'another program uses the same bot; retrying',
  refused: 'off until the next start',
}

/** `familiar telegram status`. */
export const showStatus: CommandHandler<object> = async (context, input) => {
  const { output } = context
  const status = await withApi(context, telegram, (api) => api.status(), once)
  if (input.json) return output.printJson(status)
  const { state, bot, problem, last_update_at } = status
  output.print(`Telegram: ${words[state]}${bot ? `, as @${bot.username}` : ''}`)
  if (problem) output.print(`Problem: ${problem}`)
  if (last_update_at) output.print(`Last message: ${formatTime(last_update_at)}`)
  return undefined
}
