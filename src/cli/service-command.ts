import type { Command } from 'commander'
import { handlers, type LoadHandler } from './handlers.ts'
import type { DefineCommand } from './memory-command.ts'

/** `familiar service …`: Familiar as a service of this user, by systemd or launchd. */
export function addServiceCommands(program: Command, define: DefineCommand): Command {
  const service = program
    .command('service')
    .description('run Familiar in the background, from login on')
    .addHelpText('after', examples)
  const add = (name: string, description: string, load: LoadHandler) => define(name, description, load, service)

  add('install', 'write the service of this user and start it', handlers.serviceInstall)
    .option('--dry-run', 'print what would be written, and where')
    .option('--force', 'also in place of a file that Familiar did not write')
  add('uninstall', 'stop it and remove its file; the home stays', handlers.serviceUninstall).option(
    '--force',
    'also a file that Familiar did not write',
  )
  add('status', 'whether it is there, and whether it runs', handlers.serviceStatus)
  add('logs', 'what it said', handlers.serviceLogs)
    .option('-f, --follow', 'go on as more comes')
    .option('-n, --lines <count>', 'how many lines', '100')
  add('restart', 'stop it, with what it does brought to an end, and start it again', handlers.serviceRestart)
  return service
}

const examples = `
Examples:
  familiar service install --dry-run
  familiar service install && familiar service status

Keys of model providers in your shell are not handed on: put them into .env in the home.`
