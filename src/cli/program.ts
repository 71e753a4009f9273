import { type Argument, Command, InvalidArgumentError, Option } from 'commander'
import { addCapabilityCommands } from './caps-command.ts'
import { addCompletionCommand } from './completion-command.ts'
import { addFileCommands } from './file-command.ts'
import { handlers, type LoadHandler } from './handlers.ts'
import { helpEpilogue } from './help-text.ts'
import { addImportCommands } from './import-command.ts'
import { addMcpCommands } from './mcp-command.ts'
import { addMemoryCommands } from './memory-command.ts'
import { addOutboxCommands } from './outbox-command.ts'
import { addScheduleCommands } from './schedule-command.ts'
import { addServiceCommands } from './service-command.ts'
import { addSkillCommands } from './skills-command.ts'
import { addTelegramCommands } from './telegram-command.ts'
import { addTokenCommands } from './token-command.ts'
import { addToolCommands } from './tools-command.ts'
import { addUpdateCommand } from './update-command.ts'
import { addUserCommands } from './users-command.ts'
import { addVoiceCommands } from './voice-command.ts'

/** Runs one command with its options and arguments, each under its own name, in one object. */
export type RunCommand = (load: LoadHandler, input: Record<string, unknown>) => Promise<void>

const periods = ['today', 'week', 'month', 'all']
const session = 'name or id of a session'
const everywhere = 'With every command:'

/** The whole command line, with nothing run: `run` is called with what was chosen. */
export function createProgram(options: { version: string; homePath: string; run: RunCommand }): Command {
  const epilogue = `\n${helpEpilogue(options.homePath)}`
  const program = createRoot(options.version).addHelpText('after', epilogue)

  function define(name: string, description: string, load: LoadHandler, parent = program): Command {
    return parent
      .command(name)
      .description(description)
      .action((...given) => {
        const chosen = given.at(-1) as Command
        return options.run(load, { ...chosen.optsWithGlobals(), ...namedArguments(chosen) })
      })
  }

  program.commandsGroup('Talk:')
  define('chat', 'talk in the terminal, or line by line through a pipe', handlers.chat)
    .option('-s, --session <session>', session, 'main')
    .option('--once', 'take all of standard input as one message')
    .option('--plain', 'line by line, without drawing')
  define('send', 'send one message and print the reply', handlers.send)
    .argument('[words...]', 'the message; - reads standard input')
    .option('-m, --message <text>', 'the message, as one argument')
    .option('-s, --session <session>', session, 'main')
    .option('--from <sender>', 'who says it, where it is not you')
    .option('--source <source>', 'where it comes from', 'cli')
    .addOption(new Option('--tier <tier>', 'how much context it gets').choices(['full', 'operational']))
    .option('-a, --attach <file>', 'send a file along (again for more)', append)
    .option('--key <key>', 'your own id of the message: twice the same makes one turn')
    .option('--no-wait', 'leave as soon as the message is safe, without the reply')
  define('stop', 'stop what a session is doing', handlers.stop).argument('[session]', session, 'main')
  const approvals = define('approvals', 'calls that wait for your approval', handlers.approvals)
  define('list', 'list them (the same as without a command)', handlers.approvals, approvals)
  define('approve', 'let one be made, once and exactly so', handlers.approve, approvals).argument('<id>', 'its id')
  define('deny', 'have one left', handlers.deny, approvals).argument('<id>', 'its id')

  const schedule = addScheduleCommands(program, define)
  const outbox = addOutboxCommands(define)

  program.commandsGroup('Run:')
  addListenOptions(define('start', 'serve and, on a terminal, open a chat (npm start)', handlers.start))
    .option('-s, --session <session>', session, 'main')
    .option('--plain', 'chat line by line, without drawing')
    .addHelpText('after', epilogue)
  addListenOptions(define('serve', 'serve in the foreground until stopped', handlers.serve)).addOption(
    new Option('--role <role>', 'its part where daemons share a PostgreSQL database (all)').choices([
      'api',
      'worker',
      'all',
    ]),
  )
  define('sign-in', 'print a link that signs a browser in to the page', handlers.signIn).option(
    '--user <name>',
    'whose browser (you)',
  )
  define('setup', 'choose a model and write the configuration', handlers.setup)
  define('doctor', 'check everything and say how to mend it', handlers.doctor).option(
    '--network',
    'also ask the model providers whether they answer',
  )
  const service = addServiceCommands(program, define)
  const telegram = addTelegramCommands(program, define)
  const token = addTokenCommands(program, define)
  const users = addUserCommands(program, define)
  const secrets = program.command('secrets').description('what tools are given and nobody is shown')
  define('list', 'which secrets are kept; never their values', handlers.listSecrets, secrets)
  define('rotate-key', 'seal them with a new key; the old one ends', handlers.rotateKey, secrets).option(
    '--discard-lost',
    'remove those that cannot be read',
  )

  program.commandsGroup('Look:')
  define('status', 'what runs, which model answers, what today cost', handlers.status)
  define('monitor', 'what Familiar is doing at this moment', handlers.monitor).option('-w, --watch', 'keep showing it')
  define('cost', 'what the models cost', handlers.cost).addOption(
    new Option('--period <period>', 'how far back').choices(periods).default('today'),
  )
  define('sessions', 'list the sessions', handlers.sessions).option('--all', 'the archived ones too')
  define('history', 'what was said in a session', handlers.history)
    .argument('[session]', session, 'main')
    .option('--full', 'tool calls and their results too')
  define('log', 'every event of a session', handlers.log)
    .option('-s, --session <session>', session, 'main')
    .option('-f, --follow', 'go on as new events come')
  define('context', 'what fills the context window of a session', handlers.context).argument(
    '[session]',
    session,
    'main',
  )

  program.commandsGroup('Remember:')
  const memory = addMemoryCommands(program, define)
  const file = addFileCommands(program, define)

  program.commandsGroup('Tools:')
  const tools = addToolCommands(program, define)
  const caps = addCapabilityCommands(program, define)
  const skills = addSkillCommands(program, define)
  const mcp = addMcpCommands(program, define)
  const voice = addVoiceCommands(program, define)

  program.commandsGroup('Keep:')
  define('reset', 'archive a session and begin anew; nothing is deleted', handlers.reset)
    .argument('<target>', `${session}, or "all"`)
    .option('-y, --yes', 'do not ask')
  define('backup', 'copy the database while it is in use', handlers.backup).argument(
    '[path]',
    'where to (default: backups/ in the home)',
  )
  define('restore', 'put a backup in place of the database', handlers.restore)
    .argument('<path>', 'the backup')
    .option('-y, --yes', 'do not ask')
  define('migrate', 'move the database to PostgreSQL, or back', handlers.migrate)
    .requiredOption('--to <place>', 'postgres://…, a home, or a new file')
    .option('--from <place>', 'the same; what Familiar uses now, unless told')
  define('export', 'write sessions as JSON lines, a file a day', handlers.export)
    .addOption(new Option('-s, --session <session>', session).conflicts('all'))
    .option('--all', 'every session, the archived ones too')
    .option('-o, --out <directory>', 'where to', 'familiar-export')
  const imports = addImportCommands(program, define)
  addUpdateCommand(define)
  addCompletionCommand(program, define)

  // Last, so that the help begins with what is the command's own.
  for (const command of [
    program,
    ...program.commands,
    ...service.commands,
    ...telegram.commands,
    ...token.commands,
    ...users.commands,
    ...secrets.commands,
    ...approvals.commands,
    ...schedule.commands,
    ...outbox.commands,
    ...memory.commands,
    ...file.commands,
    ...tools.commands,
    ...caps.commands,
    ...skills.commands,
    ...mcp.commands,
    ...voice.commands,
    ...imports.commands,
  ])
    addCommon(command)
  return program
}

function createRoot(version: string): Command {
  const help = new Command('help').argument('[command]').description('print the help of a command').helpGroup('Run:')
  return (
    new Command('familiar')
      .description('A personal agent that lives on your own machine.')
      .usage('[command] [options]')
      .version(version, '--version', 'print the version')
      .addHelpCommand(help)
      // Every command has options; saying so on each line tells nothing.
      .configureHelp({
        subcommandTerm: (command) => [command.name(), ...command.registeredArguments.map(placeholder)].join(' '),
      })
      .showSuggestionAfterError()
      // The version of the program is asked for before a command; after it, the option is the command's.
      .enablePositionalOptions()
      // What is wrong is thrown, and said in one place.
      .exitOverride()
      .configureOutput({ outputError: () => undefined })
  )
}

/** Before or after the command, as people type it. */
function addCommon(command: Command): void {
  command
    .addOption(new Option('--home <path>', 'where Familiar keeps everything (FAMILIAR_HOME)').helpGroup(everywhere))
    .addOption(new Option('--json', 'print JSON').helpGroup(everywhere))
    .addHelpOption(new Option('-h, --help', 'print this help').helpGroup(everywhere))
}

function addListenOptions(command: Command): Command {
  return command
    .option('-p, --port <port>', 'port to listen on (FAMILIAR_PORT, 8100)', toPort)
    .option('--host <address>', 'address to listen on (127.0.0.1)')
}

function placeholder(argument: Argument): string {
  return argument.required ? `<${argument.name()}>` : `[${argument.name()}]`
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
