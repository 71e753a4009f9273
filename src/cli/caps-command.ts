import { type Command, InvalidArgumentError, Option } from 'commander'
import { handlers, type LoadHandler } from './handlers.ts'
import type { DefineCommand } from './memory-command.ts'

const name = 'name of a capability'
const build = 'id of a build, or the capability whose newest build it is'
const states = ['building', 'active', 'failed', 'disabled']

/** `familiar caps …`: what Familiar has built for itself, what you wrote for it, and how they are kept good. */
export function addCapabilityCommands(program: Command, define: DefineCommand): Command {
  const caps = program
    .command('caps')
    .description('capabilities: tools that Familiar builds for you')
    .addHelpText('after', examples)
  const add = (command: string, description: string, load: LoadHandler) => define(command, description, load, caps)

  caps.commandsGroup('Use:')
  add('list', 'list the capabilities and how they are', handlers.capsList)
    .addOption(new Option('--state <state>', 'only those in this state').choices(states))
    .option('--query <words>', 'only those that fit, best first')
  add('show', 'all that there is to know of one', handlers.capsShow).argument('<name>', name)
  add('run', 'run one by hand', handlers.capsRun)
    .argument('<name>', name)
    .option('--args <json>', 'what it is called with; - reads standard input')
    .option('--version <number>', 'an older or newer version than the one that serves', toNumber)
    .addHelpText('after', runExamples)
  add('logs', 'what one did, newest first', handlers.capsLogs)
    .argument('<name>', name)
    .option('-n, --limit <count>', 'how many', toNumber, 50)
  add('enable', 'let one run, after a look at what it may do', handlers.capsEnable)
    .argument('<name>', name)
    .option('-y, --yes', 'do not ask')
  add('disable', 'keep one from running; nothing is deleted', handlers.capsDisable).argument('<name>', name)
  add('secret', 'give one a secret; you are asked for it, unseen', handlers.capsSecret)
    .argument('<name>', name)
    .argument('<key>', 'name of the secret')
    .addHelpText('after', secretExamples)

  caps.commandsGroup('Build:')
  add('builds', 'builds, and what they wait for', handlers.capsBuilds)
    .argument('[name]', name)
    .option('-n, --limit <count>', 'how many', toNumber, 50)
  add('watch', 'watch a build, and answer what it asks', handlers.capsWatch).argument('<build>', build)
  add('answer', 'answer a question of a build', handlers.capsAnswer)
    .argument('<question>', 'its id')
    .argument('<text...>', 'your answer')
  add('stop', 'stop a build', handlers.capsStop).argument('<build>', build)
  add('repair', 'have one mended; it serves meanwhile', handlers.capsRepair)
    .argument('<name>', name)
    .option('--problem <text>', 'what is wrong with it, beside what failed last')

  caps.commandsGroup('Keep:')
  add('rollback', 'have an older version serve again', handlers.capsRollback)
    .argument('<name>', name)
    .argument('[version]', 'its number (default: the one before)', toNumber)
  add('diff', 'what changed between two versions', handlers.capsDiff)
    .argument('<name>', name)
    .argument('[from]', 'number of a version (default: the one before)', toNumber)
    .argument('[to]', 'number of a version (default: the one that serves)', toNumber)
  add('review', 'which are unused or superseded', handlers.capsReview)

  caps.commandsGroup('Write and share:')
  add('new', 'write a capability that works, for you to change', handlers.capsNew)
    .argument('<name>', 'small letters, digits and "_"')
    .addOption(new Option('--runtime <runtime>', 'what it is written in').choices(['python', 'node']).default('python'))
  add('register', 'check a folder, run its examples, and have it serve', handlers.capsRegister).argument(
    '<path>',
    'the folder',
  )
  add('export', 'write one as a folder that is also an Agent Skill', handlers.capsExport)
    .argument('<name>', name)
    .argument('<directory>', 'where to')
  add('import', 'take a folder in; it is off until you enable it', handlers.capsImport).argument(
    '<directory>',
    'the folder',
  )
  return caps
}

function toNumber(text: string): number {
  const count = Number(text)
  if (/^\d{1,6}$/.test(text) && count >= 1) return count
  throw new InvalidArgumentError('It is a whole number from 1 on.')
}

const examples = `
Examples:
  familiar caps list --state active
  familiar caps watch weather_lookup                    follows its newest build
  familiar caps new celsius && familiar caps register celsius
  familiar caps run celsius --args '{"fahrenheit": 70}' --json`

const runExamples = `
Examples:
  familiar caps run weather_lookup --args '{"city": "Valletta"}' --json
  familiar caps run weather_lookup --version 2 --args - < args.json`

const secretExamples = `
Examples:
  familiar caps secret weather_lookup API_KEY           asks for it, unseen
  familiar caps secret weather_lookup API_KEY < key.txt`
