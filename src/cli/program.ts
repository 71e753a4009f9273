import { Argument, Command, InvalidArgumentError, Option } from 'commander'
import type { CommandHandler } from './command.ts'
import { helpEpilogue } from './help-text.ts'

/** Loaded when its command is chosen: `familiar send` must not wait for what `familiar doctor` needs. */
type LoadHandler = () => Promise<CommandHandler<never>>

/** Runs one command with its options and arguments, each under its own name, in one object. */
export type RunCommand = (load: LoadHandler, input: Record<string, unknown>) => Promise<void>

const periods = ['today', 'week', 'month', 'all']
const session = 'name or id of a session'
const everywhere = 'With every command:'

/** The whole command line, with nothing run: `run` is called with what was chosen. */
export function createProgram(options: { version: string; homePath: string; run: RunCommand }): Command {
  const program = new Command('familiar')
    .description('A personal agent that lives on your own machine.')
    .version(options.version, '--version', 'print the version')
    .addHelpCommand(
      new Command('help').argument('[command]').description('print the help of a command').helpGroup('Run:'),
    )
    // Every command has options; saying so on each line tells nothing.
    .configureHelp({
      subcommandTerm: (command) => [command.name(), ...command.registeredArguments.map(placeholder)].join(' '),
    })
    .usage('[command] [options]')
    .addHelpText('after', `\n${helpEpilogue(options.homePath)}`)
    .showSuggestionAfterError()
    .exitOverride()
    // What is wrong is thrown, and said in one place.
    .configureOutput({ outputError: () => undefined })
  addCommon(program)

  const command = (parent: Command, name: string, description: string, load: LoadHandler) =>
    addCommon(parent.command(name).description(description)).action((...given) => {
      const chosen = given.at(-1) as Command
      return options.run(load, { ...chosen.optsWithGlobals(), ...namedArguments(chosen) })
    })

  program.commandsGroup('Talk:')
  command(
    program,
    'chat',
    'talk in the terminal, or line by line through a pipe',
    async () => (await import('./chat-command.ts')).chat,
  )
    .option('-s, --session <session>', session, 'main')
    .option('--once', 'take all of standard input as one message')
  command(program, 'send', 'send one message and print the reply', async () => (await import('./send-command.ts')).send)
    .option('-m, --message <text>', 'the message; - reads standard input')
    .option('-s, --session <session>', session, 'main')
    .option('--from <sender>', 'who says it, where it is not you')
    .option('--source <source>', 'where it comes from', 'cli')
    .addOption(new Option('--tier <tier>', 'how much context it gets').choices(['full', 'operational']))
    .option('-a, --attach <file>', 'send a file along (again for more)', append)
    .option('--key <key>', 'your own id of the message: twice the same makes one turn')
    .option('--no-wait', 'leave as soon as the message is safe, without the reply')
  command(
    program,
    'stop',
    'stop what a session is doing',
    async () => (await import('./stop-command.ts')).stop,
  ).argument('[session]', session, 'main')

  program.commandsGroup('Run:')
  addListenOptions(
    command(
      program,
      'start',
      'serve and, on a terminal, open a chat (npm start)',
      async () => (await import('./start-command.ts')).start,
    ),
  ).option('-s, --session <session>', session, 'main')
  addListenOptions(
    command(
      program,
      'serve',
      'serve in the foreground until stopped',
      async () => (await import('./serve-command.ts')).serve,
    ),
  )
  command(
    program,
    'setup',
    'choose a model and write the configuration',
    async () => (await import('./run-setup.ts')).setup,
  )
  command(
    program,
    'doctor',
    'check everything and say how to mend it',
    async () => (await import('./doctor-command.ts')).doctor,
  ).option('--network', 'also ask the model providers whether they answer')
  const token = addCommon(program.command('token').description('the key to the HTTP API'))
  command(
    token,
    'rotate',
    'make a new token and print it once; the old one ends at once',
    async () => (await import('./token-command.ts')).rotateToken,
  )

  program.commandsGroup('Look:')
  command(
    program,
    'status',
    'what runs, which model answers, what today cost',
    async () => (await import('./status-command.ts')).status,
  )
  command(
    program,
    'monitor',
    'what Familiar is doing at this moment',
    async () => (await import('./monitor-command.ts')).monitor,
  ).option('-w, --watch', 'keep showing it')
  command(program, 'cost', 'what the models cost', async () => (await import('./cost-command.ts')).cost).addOption(
    new Option('--period <period>', 'how far back').choices(periods).default('today'),
  )
  command(
    program,
    'sessions',
    'list the sessions',
    async () => (await import('./sessions-command.ts')).sessions,
  ).option('--all', 'the archived ones too')
  command(program, 'history', 'what was said in a session', async () => (await import('./history-command.ts')).history)
    .argument('[session]', session, 'main')
    .option('--full', 'tool calls and their results too')
  command(program, 'log', 'every event of a session', async () => (await import('./log-command.ts')).log)
    .option('-s, --session <session>', session, 'main')
    .option('-f, --follow', 'go on as new events come')
  command(
    program,
    'context',
    'what fills the context window of a session',
    async () => (await import('./context-command.ts')).context,
  ).argument('[session]', session, 'main')

  program.commandsGroup('Keep:')
  command(
    program,
    'reset',
    'archive a session and begin anew; nothing is deleted',
    async () => (await import('./reset-command.ts')).reset,
  )
    .addArgument(new Argument('<target>', `${session}, or "all"`))
    .option('-y, --yes', 'do not ask')
  command(
    program,
    'backup',
    'copy the database while it is in use',
    async () => (await import('./backup-command.ts')).backup,
  ).argument('[path]', 'where to (default: backups/ in the home)')
  command(
    program,
    'restore',
    'put a backup in place of the database',
    async () => (await import('./restore-command.ts')).restore,
  )
    .argument('<path>', 'the backup')
    .option('-y, --yes', 'do not ask')
  command(
    program,
    'export',
    'write sessions as JSON lines, a file a day',
    async () => (await import('./export-command.ts')).exportSessions,
  )
    .addOption(new Option('-s, --session <session>', session).conflicts('all'))
    .option('--all', 'every session, the archived ones too')
    .option('-o, --out <directory>', 'where to', 'familiar-export')
  return program
}

/** Before or after the command, as people type it. */
function addCommon(command: Command): Command {
  return command
    .addOption(new Option('--home <path>', 'where Familiar keeps everything (FAMILIAR_HOME)').helpGroup(everywhere))
    .addOption(new Option('--json', 'print JSON').helpGroup(everywhere))
    .addHelpOption(new Option('-h, --help', 'print this help').helpGroup(everywhere))
}

function placeholder(argument: Argument): string {
  return argument.required ? `<${argument.name()}>` : `[${argument.name()}]`
}

function addListenOptions(command: Command): Command {
  return command
    .option('-p, --port <port>', 'port to listen on (FAMILIAR_PORT, 8100)', toPort)
    .option('--host <address>', 'address to listen on (127.0.0.1)')
}

function toPort(text: string): number {
  const port = Number(text)
  if (/^\d+$/.test(text) && port <= 65_535) return port
  throw new InvalidArgumentError('A port is a number from 0 to 65535.')
}

function append(value: string, before: string[] | undefined): string[] {
  return [...(before ?? []), value]
}

function namedArguments(command: Command): Record<string, unknown> {
  return Object.fromEntries(
    command.registeredArguments.map((argument, index) => [argument.name(), command.processedArgs[index]]),
  )
}
