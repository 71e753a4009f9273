import type { CommandHandler } from '../command.ts'
import { withTokens } from './with-tokens.ts'

/** `familiar token revoke ID`. */
export const revokeToken: CommandHandler<{ id: string }> = async (context, input) => {
  const revoked = await withTokens(context, (tokens) => tokens.revoke(input.id))
  if (input.json) context.output.printJson(revoked)
  else context.output.print(`${revoked.id} is refused from now on.`)
  return undefined
}
