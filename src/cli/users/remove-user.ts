import { resolve } from 'node:path'
import { plural } from '../../base/format.ts'
import { homePaths } from '../../daemon/home-paths.ts'
import type { CommandHandler } from '../command.ts'
import { exitCodes } from '../command-error.ts'
import { confirm } from '../confirm.ts'
import { withUsers } from './with-users.ts'

/** `familiar users remove NAME`: what they had is in the folder that is shown, and nowhere else. */
export const removeUser: CommandHandler<{ name: string; out?: string; yes?: boolean }> = async (context, input) => {
  const { output } = context
  const { name } = input
  const directory = resolve(input.out ?? `familiar-export-${name.replace(/[^\p{L}\p{N}_-]/gu, '_')}`)
  const question = `Export all that ${name} has to ${directory}, and then remove it here for good?`
  if (!input.yes && !(await confirm(context, question))) {
    output.note('Nothing was changed.')
    return exitCodes.failed
  }
  const removed = await withUsers(context, (users) => users.remove(name, directory))
  if (input.json) {
    output.printJson(removed)
    return undefined
  }
  output.print(removed.directory)
  output.note(`${removed.user.name} is removed. ${plural(removed.files.length, 'file')} hold what they had.`)
  output.note(`Backups that were made before still have it: ${homePaths(context.homePath).backups}`)
  return undefined
}
