import type { CommandHandler } from '../command.ts'
import { withUsers } from './with-users.ts'

/** `familiar users tier NAME TIER`. */
export const setTier: CommandHandler<{ name: string; tier: string }> = async (context, input) => {
  const user = await withUsers(context, (users) => users.setTier(input.name, input.tier))
  if (input.json) context.output.printJson(user)
  else context.output.print(`${user.name} has the tier ${user.tier} from the next call on.`)
  return undefined
}
