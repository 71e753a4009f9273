import type { TokenCreateRequest } from '../../protocol/token-api.ts'
import type { CommandHandler } from '../command.ts'
import { withTokens } from './with-tokens.ts'

/** `familiar token create`: the token alone goes to standard output. */
export const createToken: CommandHandler<TokenCreateRequest> = async (context, input) => {
  const { scope, user } = input
  const made = await withTokens(context, (tokens) => tokens.create({ scope, user }))
  if (input.json) {
    context.output.printJson(made)
    return undefined
  }
  context.output.print(made.token)
  context.output.note(`It is ${made.user}'s, with the scope "${made.scope}". Shown this once.`)
  context.output.note(`To end it: familiar token revoke ${made.id}`)
  return undefined
}
