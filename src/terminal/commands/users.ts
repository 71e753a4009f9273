import { resolve } from 'node:path'
import { formatTime, plural } from '../../base/text.ts'
import { homePaths } from '../../daemon/home-paths.ts'
import { type UserAddRequest, users } from '../../protocol/users.ts'
import { CommandError, type CommandHandler, exitCodes, isConfirmed } from '../command.ts'
import { apiCommand, once, withApi } from '../connect.ts'

export const setPlan = apiCommand(
  users,
  (api, { name, plan }: { name: string; plan: string }) => api.setPlan({ name, tier: plan }),
  (user) => `${user.name} has the plan ${user.tier} from the next call on.`,
  once,
)

/** Only the token goes to standard output. */
export const addUser = apiCommand(
  users,
  (api, { name, plan, scope }: Omit<UserAddRequest, 'tier'> & { plan?: string }) =>
    api.add({ name, tier: plan, scope }),
  ({ token, user }, output) => {
    output.print(token)
    output.note(`${user.name} has the plan ${user.tier}. The token is shown only once.`)
  },
  once,
)

export const rotateUser = apiCommand(
  users,
  (api, { name }: { name: string }) => api.rotate({ name }),
  ({ token }, output) => {
    output.print(token)
    output.note('Shown only once. The earlier tokens no longer work.')
  },
  once,
)

/** The owner comes first. */
export const listUsers = apiCommand(
  users,
  (api) => api.listHere(),
  (reply, { style }) => ({
    empty: 'No users.',
    header: ['User', 'Plan', 'Since'],
    rows: reply.users.map(({ name, tier, has_tier, created_at }) => [
      name,
      has_tier ? tier : style('red', `${tier} (not in the configuration: nothing is allowed)`),
      formatTime(created_at),
    ]),
  }),
  once,
)

/** After this, the data of the user is only in the printed folder. */
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
  if (!(await isConfirmed(context, input, question))) return exitCodes.failed
  const removed = await withApi(context, users, (api) => api.remove({ name, directory }), once)
  return output.report(input.json, removed, () => {
    output.print(removed.directory)
    output.note(`${removed.user.name} is removed. Their data is in ${plural(removed.files.length, 'file')} there.`)
    output.note(`Earlier backups still contain it: ${homePaths(context.homePath).backups}`)
  })
}
