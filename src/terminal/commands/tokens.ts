import { systemClock } from '../../base/clock.ts'
import { createIds } from '../../base/ids.ts'
import { formatTime } from '../../base/text.ts'
import { type TokenCreateRequest, tokens } from '../../protocol/users.ts'
import { type AccessTokens, createAccessTokens } from '../../security/tokens.ts'
import { CommandError, type CommandHandler, confirm, exitCodes } from '../command.ts'
import { withApi } from '../connect.ts'
import { hasDatabase, openBeside } from '../open-beside.ts'

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
  if (!input.yes && !(await confirm(context, question))) {
    output.note('Nothing was changed.')
    return exitCodes.failed
  }
  const clock = systemClock()
  const database = await openBeside(context)
  try {
    const token = await replaceOwnerToken(createAccessTokens({ database, clock, ids: createIds(clock) }))
    if (input.json) output.printJson({ token })
    else {
      output.print(token)
      output.note('Shown only once. The old token no longer works.')
      if (env.FAMILIAR_TOKEN) output.note('FAMILIAR_TOKEN in the environment also stays valid.')
    }
    return undefined
  } finally {
    await database.close()
  }
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

// Nothing is repeated after a lost connection.
const once = { once: true }

/** `familiar tokens create`: only the token goes to standard output. */
export const createToken: CommandHandler<TokenCreateRequest> = async (context, input) => {
  const { scope, user } = input
  // A reader that leaves ends other commands. This one continues, to revoke the token that was not read.
  const lasting = { ...context, signal: new AbortController().signal }
  const made = await withApi(
    lasting,
    tokens,
    async (api) => {
      const created = await api.create({ scope, user })
      if (input.json) context.output.printJson(created)
      else context.output.print(created.token)
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
  context.output.note(`To revoke it: familiar tokens remove ${made.id}`)
  return undefined
}

/** False if standard output is a pipe without a reader, as in `--scope read|chat|owner` pasted into a shell. */
function isRead(stdout: NodeJS.WriteStream): Promise<boolean> {
  return new Promise((resolve) => stdout.write('', (error) => resolve(!error && !stdout.errored)))
}

/** `familiar tokens list`. */
export const listTokens: CommandHandler<{ user?: string }> = async (context, input) => {
  const { output } = context
  const reply = await withApi(context, tokens, (api) => api.list({ user: input.user }), once)
  return output.list(input.json, {
    value: reply,
    empty: 'No tokens. Create one: familiar tokens create',
    header: ['Token', 'User', 'Scope', 'Since'],
    rows: reply.tokens.map(({ id, user, scope, created_at }) => [id, user, scope, formatTime(created_at)]),
  })
}

/** `familiar tokens remove ID`. */
export const revokeToken: CommandHandler<{ id: string }> = async (context, input) => {
  const revoked = await withApi(context, tokens, (api) => api.revoke({ id: input.id }), once)
  return context.output.report(input.json, revoked, `${revoked.id} is revoked.`)
}
