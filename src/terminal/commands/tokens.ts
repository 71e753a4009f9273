import { systemClock } from '../../base/clock.ts'
import { createIds } from '../../base/ids.ts'
import { formatTime } from '../../base/text.ts'
import { type TokenCreateRequest, tokens } from '../../protocol/users.ts'
import { type AccessTokens, createAccessTokens } from '../../security/tokens.ts'
import { CommandError, type CommandHandler, exitCodes, isConfirmed } from '../command.ts'
import { apiCommand, once, withApi } from '../connect.ts'
import { hasDatabase, withDatabase } from '../open-beside.ts'

/** Works on the home itself: no route of the API does this. A running daemon refuses the old token immediately. */
export const rotateToken: CommandHandler<{ yes?: boolean }> = async (context, input) => {
  const { homePath, env, output } = context
  if (!hasDatabase(context)) {
    throw new CommandError(`There is no token in ${homePath} yet.`, {
      code: 'not_found',
      hint: 'The first "familiar serve" creates one and prints it.',
    })
  }
  const question = 'Replace your token? The old one stops working at once.'
  if (!(await isConfirmed(context, input, question))) return exitCodes.failed
  const clock = systemClock()
  const token = await withDatabase(context, (database) =>
    replaceOwnerToken(createAccessTokens({ database, clock, ids: createIds(clock) })),
  )
  return output.report(input.json, { token }, () => {
    output.print(token)
    output.note('Shown only once. The old token no longer works.')
    if (env.FAMILIAR_TOKEN) output.note('FAMILIAR_TOKEN in the environment also stays valid.')
  })
}

async function replaceOwnerToken(access: AccessTokens): Promise<string> {
  const owner = await access.ensureOwner('owner')
  const own = (await access.list(owner.id)).filter(
    // The token of FAMILIAR_TOKEN is changed in the environment.
    ({ scope, tokenId }) => scope === 'owner' && !tokenId.startsWith('environment-'),
  )
  const made = await access.createToken(owner.id, 'owner')
  for (const { tokenId } of own) await access.revoke(tokenId)
  return made.token
}

/** Only the token goes to standard output. */
export const createToken: CommandHandler<TokenCreateRequest> = async (context, input) => {
  const { scope, user } = input
  // A reader that leaves ends other commands. This one continues, to revoke the token that was not read.
  const lasting = { ...context, signal: new AbortController().signal }
  const made = await withApi(
    lasting,
    tokens,
    async (api) => {
      const created = await api.create({ scope, user })
      context.output.report(input.json, created, created.token)
      if (await isRead(context.stdout)) return created
      await api.revoke({ id: created.id })
      return undefined
    },
    once,
  )
  if (!made) {
    const hint = 'Name one scope, and do not pipe the output to a command that does not read it.'
    return context.output.fail('The token could not be printed, so it was revoked.', hint, exitCodes.failed)
  }
  if (input.json) return undefined
  context.output.note(`It is ${made.user}'s, with the scope "${made.scope}". Shown only once.`)
  context.output.note(`To revoke it: ${context.output.commandLine(`tokens remove ${made.id}`)}`)
  return undefined
}

/** False if standard output is a pipe without a reader, as in `--scope read|chat|owner` pasted into a shell. */
function isRead(stdout: NodeJS.WriteStream): Promise<boolean> {
  return new Promise((resolve) => stdout.write('', (error) => resolve(!error && !stdout.errored)))
}

export const listTokens = apiCommand(
  tokens,
  (api, { user }: { user?: string }) => api.list({ user }),
  (reply) => ({
    empty: 'No tokens. Create one: familiar tokens create',
    header: ['Token', 'User', 'Scope', 'Since'],
    rows: reply.tokens.map(({ id, user, scope, created_at }) => [id, user, scope, formatTime(created_at)]),
  }),
  once,
)

export const revokeToken = apiCommand(
  tokens,
  (api, { id }: { id: string }) => api.revoke({ id }),
  ({ id }) => `${id} is revoked.`,
  once,
)
