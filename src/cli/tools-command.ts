import { type Command, InvalidArgumentError, Option } from 'commander'
import { handlers, type LoadHandler } from './handlers.ts'
import type { DefineCommand } from './memory-command.ts'

const name = 'name of a tool'

/** `familiar tools …`: tools that are folders, and what Familiar may do with them. */
export function addToolCommands(program: Command, define: DefineCommand): Command {
  const tools = program
    .command('tools')
    .description('tools: make, configure and run them')
    .addHelpText('after', examples)
  const add = (command: string, description: string, load: LoadHandler) => define(command, description, load, tools)

  add('list', 'list the tools and how they are', handlers.toolsList).option('--all', "Familiar's own, too")
  add('show', 'all that there is to know of one', handlers.toolsShow).argument('<name>', name)
  add('new', 'write a tool that works, for you to change', handlers.toolsNew)
    .argument('<name>', 'small letters, digits, "_" and "-"')
    .addOption(
      new Option('--language <language>', 'what it is written in')
        .choices(['python', 'bash', 'node'])
        .default('python'),
    )
    .option('--description <text>', 'what it is for')
  add('run', 'run one by hand', handlers.toolsRun)
    .argument('<name>', name)
    .option('--params <json>', 'its parameters; - reads standard input')
    .option('--telemetry <json>', 'what it is told of time and place')
    .addHelpText('after', runExamples)
  add('test', 'run its own tests (tests.json in its folder)', handlers.toolsTest).argument('<name>', name)
  add('config', 'show or set what it needs; secrets are asked for', handlers.toolsConfig)
    .argument('<name>', name)
    .argument('[settings...]', 'KEY=VALUE, or KEY to be asked for it')
    .option('--unset <key>', 'take a setting away (again for more)', append)
    .addHelpText('after', configExamples)
  add('enable', 'let one run: also your word for one that has changed', handlers.toolsEnable).argument('<name>', name)
  add('disable', 'keep one from running', handlers.toolsDisable).argument('<name>', name)
  add('allow', 'show or say which hosts it may reach beside its own', handlers.toolsAllow)
    .argument('<name>', name)
    .argument('[hosts...]', 'such as api.example.com, *.example.com or localhost:8080')
    .option('--remove', 'no longer these')
  add('logs', 'what one did, newest first', handlers.toolsLogs)
    .argument('<name>', name)
    .option('-n, --limit <count>', 'how many', toCount, 50)
  add('runs', 'when tools ran by schedule or webhook, late and missed runs too', handlers.toolsRuns)
    .argument('[name]', name)
    .option('-n, --limit <count>', 'how many', toCount, 50)
  add('hook', 'make a new secret for the callers of its webhook', handlers.toolsHook).argument('<name>', name)
  return tools
}

function toCount(text: string): number {
  const count = Number(text)
  if (/^\d+$/.test(text) && count >= 1) return count
  throw new InvalidArgumentError('It is a whole number from 1 on.')
}

function append(value: string, before: string[] | undefined): string[] {
  return [...(before ?? []), value]
}

const examples = `
Examples:
  familiar tools new greeter --language bash
  familiar tools run greeter --params '{"name": "Anna"}'
  familiar tools config weather api_key
  familiar tools logs weather`

const runExamples = `
Examples:
  familiar tools run weather --params '{"location": "Valletta"}' --json
  familiar tools run weather --telemetry '{"city": "Valletta", "lat": 35.9, "lon": 14.5}'
  familiar tools run summary --params - < params.json`

const configExamples = `
Examples:
  familiar tools config weather                          shows what is set
  familiar tools config weather units=metric days=3
  familiar tools config weather api_key                  asks for it, unseen
  familiar tools config weather api_key < key.txt
  familiar tools config weather --unset units`
