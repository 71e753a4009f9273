import { type Command, Option } from 'commander'
import { handlers, type LoadHandler } from './handlers.ts'
import type { DefineCommand } from './memory-command.ts'

/** `familiar token …`: the keys to the HTTP API and to `/mcp`. For whoever can read the home alone. */
export function addTokenCommands(program: Command, define: DefineCommand): Command {
  const token = program.command('token').description('keys to the HTTP API').addHelpText('after', examples)
  const add = (command: string, description: string, load: LoadHandler) => define(command, description, load, token)

  add('list', 'the tokens that are valid; never the tokens themselves', handlers.tokenList).option(
    '--user <name>',
    'of one user alone',
  )
  add('create', 'make a further token and print it once', handlers.tokenCreate)
    .addOption(new Option('--scope <scope>', 'what it allows').choices(['read', 'chat', 'owner']).default('chat'))
    .option('--user <name>', 'whose it is (default: yours)')
  add('revoke', 'refuse a token from now on', handlers.tokenRevoke).argument('<id>', 'its id, as token list shows it')
  add('rotate', 'make a new token and print it once; the old one ends at once', handlers.rotateToken)
  return token
}

const examples = `
Examples:
  familiar token create --scope read                    a program that may only look
  familiar token revoke ID`
