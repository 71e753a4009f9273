import { formatTime } from '../../base/format.ts'
import type { CommandHandler } from '../command.ts'
import { withTelegram } from './with-telegram.ts'

/** `familiar telegram contacts`: those of the config first. */
export const listContacts: CommandHandler<object> = async (context, input) => {
  const { output } = context
  const contacts = await withTelegram(context, (telegram) => telegram.contacts())
  if (input.json) {
    output.printJson({ contacts })
    return undefined
  }
  if (contacts.length === 0) {
    output.note('Nobody may speak on Telegram yet: familiar telegram pair')
    return undefined
  }
  output.printTable(
    contacts.map(({ id, user, name, paired_at }) => [
      String(id),
      user,
      name,
      paired_at === null ? 'in the config' : formatTime(paired_at),
    ]),
    { header: ['Number', 'Speaks as', 'Calls themselves', 'Paired'] },
  )
  return undefined
}
