import { formatTime } from '../../base/text.ts'
import { telegram } from '../../protocol/channels.ts'
import { type Answer, apiCommand, once } from '../connect.ts'

export const unpair = apiCommand(
  telegram,
  async (api, input: { id: string }) => ({ id: (await api.unpair({ id: input.id })).id }),
  ({ id }) => `${id} is blocked.`,
  once,
)

/** The contacts of the configuration come first. */
export const listContacts = apiCommand(
  telegram,
  (api) => api.contacts(),
  ({ contacts }, output) => {
    if (contacts.length === 0) {
      return output.note(`No Telegram contacts yet. Add one: ${output.commandLine('telegram pair')}`)
    }
    const rows = contacts.map(({ id, user, name, paired_at }) => [
      String(id),
      user,
      name,
      paired_at === null ? 'in the config' : formatTime(paired_at),
    ])
    return { header: ['Id', 'User', 'Name', 'Paired'], rows }
  },
  once,
)

/** Only the code goes to standard output. */
export const pair = apiCommand(
  telegram,
  (api, input: { user?: string }) => api.makeCode({ user: input.user || undefined }),
  ({ code, link, user, expires_at }, output) => {
    output.print(code)
    output.note(`Send this to the bot: /pair ${code}`)
    if (link) output.note(`Or open: ${link}`)
    output.note(`The first person to send it becomes ${user}. Valid once, until ${formatTime(expires_at)}.`)
  },
  once,
)

const words: Record<Answer<typeof telegram.status>['state'], string> = {
  off: 'off',
  starting: 'starting',
  listening: 'on',
  waiting: 'Telegram cannot be reached; retrying',
  conflict: 'another program uses the same bot; retrying',
  refused: 'off until the next start',
}

export const showStatus = apiCommand(
  telegram,
  (api) => api.status(),
  ({ state, bot, problem, last_update_at }, output) => {
    output.print(`Telegram: ${words[state]}${bot ? `, as @${bot.username}` : ''}`)
    if (problem) output.print(`Problem: ${problem}`)
    if (last_update_at) output.print(`Last message: ${formatTime(last_update_at)}`)
  },
  once,
)
