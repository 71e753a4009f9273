import { type Command, Option } from 'commander'
import { handlers, type LoadHandler } from './handlers.ts'
import type { DefineCommand } from './memory-command.ts'

const name = 'name of a user'
const tier = 'tier of the configuration'

/** `familiar users …`: who else uses this home, and what they have. For whoever can read the home alone. */
export function addUserCommands(program: Command, define: DefineCommand): Command {
  const users = program
    .command('users')
    .description('who else may use this home, and how far')
    .addHelpText('after', examples)
  const add = (command: string, description: string, load: LoadHandler) => define(command, description, load, users)

  add('list', 'the users and their tiers', handlers.usersList)
  add('add', 'add a user and print their token, once', handlers.usersAdd)
    .argument('<name>', 'letters, digits, "-" and "_"')
    .option('--tier <tier>', `${tier} (default: guest, who may talk)`)
    .addOption(
      new Option('--scope <scope>', 'what their token allows').choices(['read', 'chat', 'owner']).default('chat'),
    )
  add('tier', 'give a user another tier, at once', handlers.usersTier).argument('<name>', name).argument('<tier>', tier)
  add('rotate', 'make a new token and print it once; their old ones end at once', handlers.usersRotate).argument(
    '<name>',
    name,
  )
  add('remove', 'export all that a user has, and then remove it', handlers.usersRemove)
    .argument('<name>', name)
    .option('-o, --out <directory>', 'where to export to (default: familiar-export-NAME)')
    .option('-y, --yes', 'do not ask')
  return users
}

const examples = `
Examples:
  familiar users add ada --tier jive                    prints the token that ada comes with
  familiar users tier ada jigga
  familiar users remove ada --out ~/ada-has-left`
