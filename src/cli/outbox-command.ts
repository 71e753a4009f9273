import { type Command, Option } from 'commander'
import type { OutboxItemReply } from '../protocol/outbox-api.ts'
import { handlers, type LoadHandler } from './handlers.ts'
import type { DefineCommand } from './memory-command.ts'

const states: OutboxItemReply['state'][] = ['pending', 'sending', 'sent', 'unknown', 'failed', 'cancelled']
const item = 'id in the outbox, or the beginning of it'

/** `familiar outbox …`: what goes out to Telegram and to other programs. */
export function addOutboxCommands(define: DefineCommand): Command {
  const group = addListOptions(
    define('outbox', 'what goes out to Telegram and to other programs', handlers.outboxList),
  ).addHelpText('after', examples)
  const add = (command: string, description: string, load: LoadHandler) => define(command, description, load, group)

  addListOptions(add('list', 'list it (the same as without a command)', handlers.outboxList))
  add('show', 'one with all that it says', handlers.outboxShow).argument('<item>', item)
  add('retry', 'try one again now', handlers.outboxRetry).argument('<item>', item)
  add('cancel', 'do not send one that waits', handlers.outboxCancel).argument('<item>', item)
  return group
}

function addListOptions(command: Command): Command {
  return command
    .addOption(new Option('--state <state>', 'only what is so').choices(states))
    .option('--channel <channel>', 'only what goes over this: telegram, callback')
    .option('-n, --limit <count>', 'how many at most', '50')
}

const examples = `
States:
  pending   waits, perhaps for another try
  sending   is under way
  sent      the other side said that it has it
  unknown   may have arrived: the connection broke before an answer came
  failed    did not arrive, and is not tried again by itself
  cancelled was not sent, as you wished

Examples:
  familiar outbox list --state failed
  familiar outbox retry 0199a1b2`
