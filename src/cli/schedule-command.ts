import { type Command, Option } from 'commander'
import { handlers, type LoadHandler } from './handlers.ts'
import type { DefineCommand } from './memory-command.ts'

const schedule = 'id of a schedule, the beginning of it, or its name'

/** `familiar schedule …`: messages that are sent later. */
export function addScheduleCommands(program: Command, define: DefineCommand): Command {
  const group = program
    .command('schedule')
    .description('messages that are sent to Familiar later')
    .addHelpText('after', examples)
  const add = (command: string, description: string, load: LoadHandler) => define(command, description, load, group)

  addPlaceOptions(add('add', 'have a message sent once, or again and again', handlers.scheduleAdd))
    .argument('<message...>', 'what is said then')
    .addOption(
      new Option('--at <time>', 'once: 2026-12-01T09:00, "tomorrow at 9:00", "in 20 minutes"').conflicts('cron'),
    )
    .option('--cron <fields>', 'again and again: five fields, or "*/30" for every 30 minutes')
  add('list', 'what is to come, and how the last one went', handlers.scheduleList).option('--all', 'what is over, too')
  add('show', 'one with its runs, late and missed ones too', handlers.scheduleShow).argument('<schedule>', schedule)
  add('cancel', 'have one not come again', handlers.scheduleCancel).argument('<schedule>', schedule)
  add('run', 'send one now, beside its times', handlers.scheduleRun).argument('<schedule>', schedule)
  addPlaceOptions(
    add('heartbeat', 'have what HEARTBEAT.md says sent every so often', handlers.scheduleHeartbeat),
  ).option('--every <interval>', 'how often: 30m, 2h', '30m')
  return group
}

function addPlaceOptions(command: Command): Command {
  return command
    .option('--name <name>', 'what it is called')
    .option('-s, --session <session>', 'name or id of the session that it goes to', 'main')
    .option('--time-zone <zone>', 'whose clock it goes by (default: yours)')
    .addOption(
      new Option('--catch-up <policy>', 'of what is missed while Familiar does not run: the newest, all or none')
        .choices(['latest', 'all', 'none'])
        .default('latest'),
    )
}

const examples = `
Examples:
  familiar schedule add --at "tomorrow at 9:00" Remind me to call Anna
  familiar schedule add --cron "0 7 * * 1-5" --name digest Sum up what is due today
  familiar schedule heartbeat --every 30m
  familiar schedule list`
