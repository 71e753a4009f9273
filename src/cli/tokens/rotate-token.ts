import { systemClock } from '../../base/clock.ts'
import { createIds } from '../../base/ids.ts'
import { type AccessTokens, createAccessTokens } from '../../policy/access-tokens.ts'
import type { CommandHandler } from '../command.ts'
import { CommandError } from '../command-error.ts'
import { hasDatabase } from '../database-url.ts'
import { openBeside } from '../open-beside.ts'

/** For whoever can read the home alone: no route of the API does this. A running daemon refuses the old one at once. */
export const rotateToken: CommandHandler<object> = async (context, input) => {
  const { homePath, env, output } = context
  if (!hasDatabase(context)) {
    throw new CommandError(`There is no token in ${homePath} yet.`, {
      code: 'not_found',
      hint: 'The first "familiar serve" makes one and shows it.',
    })
  }
  const clock = systemClock()
  const database = await openBeside(context)
  try {
    const tokens = createAccessTokens({ database, clock, ids: createIds(clock) })
    const token = await replaceOwnerToken(tokens)
    if (input.json) output.printJson({ token })
    else {
      output.print(token)
      output.note('Shown this once. The token before is refused from now on.')
      if (env.FAMILIAR_TOKEN) output.note('FAMILIAR_TOKEN stays valid beside it, as long as the environment holds it.')
    }
    return undefined
  } finally {
    await database.close()
  }
}

async function replaceOwnerToken(tokens: AccessTokens): Promise<string> {
  const owner = await tokens.ensureOwner('owner')
  const own = (await tokens.list(owner.id)).filter(
    // The one that FAMILIAR_TOKEN holds is rotated where it is set.
    ({ scope, tokenId }) => scope === 'owner' && !tokenId.startsWith('environment-'),
  )
  const made = await tokens.createToken(owner.id, 'owner')
  for (const { tokenId } of own) await tokens.revoke(tokenId)
  return made.token
}
