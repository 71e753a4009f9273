import type { UserAddRequest, UserTokenReply } from '../../protocol/user-api.ts'
import type { CommandContext, CommandHandler } from '../command.ts'
import { withUsers } from './with-users.ts'

/** `familiar users add NAME`: the token alone goes to standard output. */
export const addUser: CommandHandler<UserAddRequest> = async (context, input) => {
  const { name, tier, scope } = input
  const added = await withUsers(context, (users) => users.add({ name, tier, scope }))
  showToken(context, added, input.json)
  if (!input.json) context.output.note(`${added.user.name} has the tier ${added.user.tier}. Shown this once.`)
  return undefined
}

/** `familiar users rotate NAME`. */
export const rotateUser: CommandHandler<{ name: string }> = async (context, input) => {
  const made = await withUsers(context, (users) => users.rotate(input.name))
  showToken(context, made, input.json)
  if (!input.json) context.output.note('Shown this once. The tokens before are refused from now on.')
  return undefined
}

function showToken({ output }: CommandContext, made: UserTokenReply, json: boolean | undefined): void {
  if (json) output.printJson(made)
  else output.print(made.token)
}
