import type { Command } from 'commander'
import { handlers, type LoadHandler } from './handlers.ts'
import type { DefineCommand } from './memory-command.ts'

/** `familiar telegram …`: who may speak there. For whoever can read the home alone. */
export function addTelegramCommands(program: Command, define: DefineCommand): Command {
  const telegram = program
    .command('telegram')
    .description('who may speak on Telegram, and whether it is read')
    .addHelpText('after', examples)
  const add = (command: string, description: string, load: LoadHandler) => define(command, description, load, telegram)

  add('pair', 'make a code with which somebody pairs, once and within ten minutes', handlers.telegramPair).option(
    '--user <name>',
    'whom they speak as (default: the owner)',
  )
  add('contacts', 'who may speak, and as whom', handlers.telegramContacts)
  add('unpair', 'hear somebody no longer, at once', handlers.telegramUnpair).argument('<id>', 'their number')
  add('status', 'whether Telegram is read', handlers.telegramStatus)
  return telegram
}

const examples = `
Examples:
  familiar telegram pair                  prints a code; send it to the bot as: /pair CODE
  familiar telegram pair --user ada
  familiar telegram unpair 123456789`
