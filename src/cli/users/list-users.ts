import { formatTime } from '../../base/format.ts'
import type { CommandHandler } from '../command.ts'
import { withUsers } from './with-users.ts'

/** `familiar users list`: everybody, the owner first. */
export const listUsers: CommandHandler<object> = async (context, input) => {
  const { output } = context
  const users = await withUsers(context, (client) => client.list())
  if (input.json) {
    output.printJson({ users })
    return undefined
  }
  output.printTable(
    users.map(({ name, tier, has_tier, created_at }) => [
      name,
      has_tier ? tier : output.style('red', `${tier} (not in the configuration: nothing is allowed)`),
      formatTime(created_at),
    ]),
    { header: ['User', 'Tier', 'Since'] },
  )
  return undefined
}
