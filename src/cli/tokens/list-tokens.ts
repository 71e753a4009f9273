import { formatTime } from '../../base/format.ts'
import type { CommandHandler } from '../command.ts'
import { withTokens } from './with-tokens.ts'

/** `familiar token list`. */
export const listTokens: CommandHandler<{ user?: string }> = async (context, input) => {
  const { output } = context
  const tokens = await withTokens(context, (client) => client.list(input.user))
  if (input.json) output.printJson({ tokens })
  else if (tokens.length === 0) output.print('There are no tokens. To make one: familiar token create')
  else {
    output.printTable(
      tokens.map(({ id, user, scope, created_at }) => [id, user, scope, formatTime(created_at)]),
      { header: ['Token', 'User', 'Scope', 'Since'] },
    )
  }
  return undefined
}
