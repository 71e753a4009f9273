import { resolve } from 'node:path'
import { formatTime, plural } from '../../base/text.ts'
import { homePaths } from '../../daemon/home-paths.ts'
import { type UserAddRequest, type UserTokenReply, users } from '../../protocol/users.ts'
import { type CommandContext, CommandError, type CommandHandler, confirm, exitCodes } from '../command.ts'
import { withApi } from '../connect.ts'

// Nothing is repeated after a lost connection.
const once = { once: true }

/** `familiar users plan NAME PLAN`. */
export const setPlan: CommandHandler<{ name: string; plan: string }> = async (context, input) => {
  const user = await withApi(context, users, (api) => api.setTier({ name: input.name, tier: input.plan }), once)
  return context.output.report(input.json, user, `${user.name} has the plan ${user.tier} from the next call on.`)
}

/** `familiar users add NAME`: only the token goes to standard output. */
export const addUser: CommandHandler<Omit<UserAddRequest, 'tier'> & { plan?: string }> = async (context, input) => {
  const { name, plan: tier, scope } = input
  const added = await withApi(context, users, (api) => api.add({ name, tier, scope }), once)
  showToken(context, added, input.json)
  if (!input.json)
    context.output.note(`${added.user.name} has the plan ${added.user.tier}. The token is shown only once.`)
  return undefined
}

/** `familiar users rotate NAME`. */
export const rotateUser: CommandHandler<{ name: string }> = async (context, input) => {
  const made = await withApi(context, users, (api) => api.rotate({ name: input.name }), once)
  showToken(context, made, input.json)
  if (!input.json) context.output.note('Shown only once. The earlier tokens no longer work.')
  return undefined
}

function showToken({ output }: CommandContext, made: UserTokenReply, json: boolean | undefined): void {
  if (json) output.printJson(made)
  else output.print(made.token)
}

/** `familiar users list`: everyone, the owner first. */
export const listUsers: CommandHandler<object> = async (context, input) => {
  const { output } = context
  const reply = await withApi(context, users, (api) => api.listHere(), once)
  return output.list(input.json, {
    value: reply,
    empty: 'No users.',
    header: ['User', 'Plan', 'Since'],
    rows: reply.users.map(({ name, tier, has_tier, created_at }) => [
      name,
      has_tier ? tier : output.style('red', `${tier} (not in the configuration: nothing is allowed)`),
      formatTime(created_at),
    ]),
  })
}

/** `familiar users remove NAME`: their data is then only in the printed folder. */
export const removeUser: CommandHandler<{ name: string; out?: string; yes?: boolean }> = async (context, input) => {
  const { output } = context
  const { name } = input
  const directory = resolve(input.out ?? `familiar-export-${name.replace(/[^\p{L}\p{N}_-]/gu, '_')}`)
  const { users: known } = await withApi(context, users, (api) => api.listHere(), once)
  if (!known.some((user) => user.name === name)) {
    const hint = `Users: ${known.map((user) => user.name).join(', ')}`
    throw new CommandError(`There is no user ${JSON.stringify(name)}.`, { code: 'not_found', hint })
  }
  const question = `Export the data of ${name} to ${directory}, then delete it here for good?`
  if (!input.yes && !(await confirm(context, question))) {
    output.note('Nothing was changed.')
    return exitCodes.failed
  }
  const removed = await withApi(context, users, (api) => api.remove({ name, directory }), once)
  if (input.json) return output.printJson(removed)
  output.print(removed.directory)
  output.note(`${removed.user.name} is removed. Their data is in ${plural(removed.files.length, 'file')} there.`)
  output.note(`Earlier backups still contain it: ${homePaths(context.homePath).backups}`)
  return undefined
}
