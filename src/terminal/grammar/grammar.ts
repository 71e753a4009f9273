import { Argument, Command, CommanderError, Help, InvalidArgumentError, Option } from 'commander'
import { type CommandHandler, usageError } from '../command.ts'

/** Loads a handler when its command is chosen, so that `familiar send` does not load what `familiar doctor` needs. */
export type LoadHandler = () => Promise<CommandHandler<never>>

/** Reads one word; the value so far is given for an option that may be repeated. */
type Parse = ((text: string) => unknown) | ((text: string, before: string[] | undefined) => string[])

interface Value {
  choices?: readonly string[]
  default?: unknown
  parse?: Parse
}

interface OptionSpec extends Value {
  flags: string
  text: string
  conflicts?: string | string[]
  required?: boolean
  /** The flags of an earlier version: accepted, and not shown in the help. */
  old?: string
}

/** One command or group, as the help shows it and as the parser reads it. */
export interface CommandSpec {
  /** One line, at most 70 characters, in the imperative. */
  summary: string
  /** Of a command. A group has `commands` instead. */
  run?: LoadHandler
  /** `<required>`, `[optional]` or `[several...]`, each with its description. */
  args?: Record<string, string | (Value & { text: string })>
  /** Takes a session as an argument or with `--session`. `main` and `new`, which may start one, fall back to `main`. */
  session?: 'main' | 'new' | 'optional' | 'required'
  options?: readonly OptionSpec[]
  /** Command lines without the leading `familiar`, which run as they are. */
  examples?: readonly string[]
  /** Printed at the end of the help. */
  notes?: string
  /** Shorter or other common names. */
  aliases?: readonly string[]
  /** Names of earlier versions: accepted, and not shown in the help. */
  old?: readonly string[]
  hidden?: boolean
  /** May create the home. All other commands refuse a path without one, which is usually mistyped. */
  createsHome?: boolean
  /** Of a group. The first one runs if none is named. */
  commands?: Record<string, CommandSpec>
  /** Of a command in a group: the heading that it is listed under. */
  heading?: string
}

/** Runs one command with its options and arguments, each under its own name, in one object. */
export type RunCommand = (load: LoadHandler, input: Record<string, unknown>, spec: CommandSpec) => Promise<void>

type HandlerName<Module> = {
  [Name in keyof Module]: Module[Name] extends CommandHandler<never> ? Name : never
}[keyof Module]

/** The handlers of a module, which is loaded with the first one that runs. */
export function handlersOf<Module>(load: () => Promise<Module>): (name: HandlerName<Module>) => LoadHandler {
  return (name) => async () => (await load())[name] as CommandHandler<never>
}

/** One command, as it is declared. */
export function command(summary: string, run: LoadHandler, more: Omit<CommandSpec, 'summary' | 'run'> = {}) {
  return { summary, run, ...more }
}

/** Commands of a group under a heading of their own. */
export function under(heading: string, commands: Record<string, CommandSpec>): Record<string, CommandSpec> {
  return Object.fromEntries(Object.entries(commands).map(([name, spec]) => [name, { ...spec, heading }]))
}

export function option(flags: string, text: string, more: Omit<OptionSpec, 'flags' | 'text'> = {}): OptionSpec {
  return { flags, text, ...more }
}

export const yes = option('-y, --yes', 'Do not ask for confirmation')
const sessionText = 'Session name or id'
/** For commands that may start a session. */
export const sessionOption = option('-s, --session <session>', sessionText, { parse: toSession, default: 'main' })
export const scopeOption = (initial: string) =>
  option('--scope <scope>', 'Permissions of the token', { choices: ['read', 'chat', 'owner'], default: initial })

export function limitOption(count: number, more: Partial<OptionSpec> = {}): OptionSpec {
  return option('-n, --limit <count>', 'Maximum number of entries', { parse: toCount, default: count, ...more })
}

/** An option that may be given several times. */
export function append(value: string, before: string[] | undefined): string[] {
  return [...(before ?? []), value]
}

export function toCount(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('Expected a whole number, 1 or more.')
}

/** Names that a shell need not quote. Other names are found by commands that only read, and by their id. */
function toSession(text: string): string {
  if (/^[\p{L}\p{N}_.:@+/-]{1,200}$/u.test(text)) return text
  throw new InvalidArgumentError('A session name may only contain letters, digits and _ . : @ + / -')
}

export function toVersion(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('Expected a version number.')
}

export function toShare(text: string): number {
  const share = Number(text)
  if (text.trim() !== '' && share >= 0 && share <= 1) return share
  throw new InvalidArgumentError('Expected a number from 0 to 1.')
}

export function toPort(text: string): number {
  const port = Number(text)
  if (/^\d+$/.test(text) && port <= 65_535) return port
  throw new InvalidArgumentError('Expected a port from 0 to 65535.')
}

const specs = new WeakMap<Command, CommandSpec>()

/** Short names that these commands have in every group. */
const usualAliases: Record<string, string> = { list: 'ls', remove: 'rm', logs: 'log' }

/** How a command was declared. */
export function specOf(command: Command): CommandSpec | undefined {
  return specs.get(command)
}

const globalHeading = 'Global options:'

/** The program itself: options that every command has, and the layout of the help. */
export function createRoot(version: string): Command {
  const help = new Command('help').argument('[command...]', 'Command').description('Print the help of a command')
  const root = new Command('familiar')
    .description('A personal AI agent that runs on your own computer.')
    .version(version, '-v, --version', 'Print the version')
    .addOption(new Option('-V').hideHelp())
    .addHelpCommand(help.helpGroup('Help:'))
    .configureHelp({ visibleCommands, subcommandTerm, subcommandDescription, commandUsage, formatHelp })
    .showSuggestionAfterError()
    // The version of the program is asked for before a command; after it, the option is the command's.
    .enablePositionalOptions()
    // Errors are thrown, and printed in one place.
    .exitOverride()
    .configureOutput({ outputError: () => undefined })
  root.on('option:V', () => {
    root.configureOutput().writeOut?.(`${version}\n`)
    throw new CommanderError(0, 'commander.version', version)
  })
  return addGlobalOptions(root)
}

/** Adds a command, or a group with its commands, to `parent`. */
export function addCommand(
  parent: Command,
  name: string,
  spec: CommandSpec,
  options: { run: RunCommand; isDefault?: boolean },
): Command {
  const { isDefault = false, run } = options
  const command = parent.command(name, { isDefault, hidden: spec.hidden === true }).description(spec.summary)
  const aliases = [usualAliases[name] ?? [], spec.aliases ?? []].flat()
  specs.set(command, { ...spec, aliases })
  command.aliases([...aliases, ...(spec.old ?? [])])
  if (spec.heading !== undefined) command.helpGroup(spec.heading)
  if (spec.session) addSession(command, spec.session)
  for (const [term, value] of Object.entries(spec.args ?? {})) command.addArgument(toArgument(term, value))
  for (const one of spec.options ?? []) addOption(command, one)
  for (const [index, [child, declared]] of Object.entries(spec.commands ?? {}).entries())
    addCommand(command, child, declared, { run, isDefault: index === 0 })
  const { run: load } = spec
  if (load) {
    if (isDefault) command.allowExcessArguments()
    command.action(async () => {
      await refuseUnknown(command)
      await run(load, inputOf(command, spec), spec)
    })
  }
  return addGlobalOptions(command)
}

function addSession(command: Command, kind: NonNullable<CommandSpec['session']>): void {
  const byDefault = kind === 'main' || kind === 'new' ? ' (default: main)' : ''
  const more = kind === 'new' ? { parse: toSession } : {}
  command.addArgument(toArgument('[session]', { text: `${sessionText}${byDefault}`, ...more }))
  addOption(command, option('-s, --session <session>', 'The same as the argument', more))
}

function toArgument(term: string, value: string | (Value & { text: string })): Argument {
  const { text, choices, parse } = typeof value === 'string' ? { text: value } : value
  const argument = new Argument(term, text)
  if (parse) argument.argParser(parse as (text: string, before: unknown) => unknown)
  return choices ? argument.choices(choices) : argument
}

function addOption(command: Command, spec: OptionSpec): void {
  const toOption = (flags: string) => {
    const made = new Option(flags, spec.text)
    if (spec.parse) made.argParser(spec.parse as (text: string, before: unknown) => unknown)
    if (spec.choices) made.choices(spec.choices)
    return made
  }
  const made = toOption(spec.flags)
  if (spec.default !== undefined) made.default(spec.default)
  if (spec.conflicts) made.conflicts(spec.conflicts)
  command.addOption(made.makeOptionMandatory(spec.required === true))
  if (spec.old === undefined) return
  command.addOption(toOption(spec.old).hideHelp())
}

/** Before or after the command, as people type it. Last, so that the help begins with the command's own options. */
function addGlobalOptions(command: Command): Command {
  return command
    .addOption(new Option('--home <path>', 'Folder with all data (or FAMILIAR_HOME)').helpGroup(globalHeading))
    .addOption(new Option('--json', 'Print JSON').helpGroup(globalHeading))
    .addHelpOption(new Option('-h, --help', 'Print this help').helpGroup(globalHeading))
}

/** Of the command that a group runs by default: a word that it does not take is a mistyped command. */
async function refuseUnknown(command: Command): Promise<void> {
  const stray = command.args[command.registeredArguments.length]
  const group = command.parent
  const takesAll = command.registeredArguments.at(-1)?.variadic === true
  if (stray === undefined || takesAll || !group) return
  const isNamed = group.args[0] !== undefined && [command.name(), ...command.aliases()].includes(group.args[0])
  if (isNamed) throw usageError(`too many arguments for '${command.name()}': ${stray}`, helpHint(command))
  const known = group.commands.filter((one) => !specs.get(one)?.hidden).map((one) => one.name())
  // Loaded here alone: it brings a parser and a schema library along.
  const { nearestName } = await import('../../daemon/config/toml.ts')
  const near = nearestName(
    stray,
    group.commands.flatMap((one) => [one.name(), ...one.aliases()]),
  )
  const hint = near ? `Did you mean ${pathOf(group)} ${near}?` : `Commands: ${known.join(', ')}`
  throw usageError(`unknown command '${stray}' in '${pathOf(group)}'.`, hint)
}

function helpHint(command: Command): string {
  return `Help: ${pathOf(command)} --help`
}

/** `familiar memory add`. */
function pathOf(command: Command): string {
  return command.parent ? `${pathOf(command.parent)} ${command.name()}` : command.name()
}

function inputOf(command: Command, spec: CommandSpec): Record<string, unknown> {
  const options = command.optsWithGlobals()
  for (const { flags, old } of spec.options ?? []) {
    const [name, before] = [flags, old].map((given) => (given ? new Option(given).attributeName() : undefined))
    if (name === undefined || before === undefined || options[before] === undefined) continue
    if (['default', undefined].includes(command.getOptionValueSource(name))) options[name] = options[before]
    delete options[before]
  }
  const args = command.registeredArguments.map((argument, at) => [argument.name(), command.processedArgs[at]] as const)
  const { session, ...input } = { ...options, ...Object.fromEntries(args) } as Record<string, unknown>
  if (!spec.session) return { ...options, ...Object.fromEntries(args) }
  const both = [options.session, session].filter((one) => one !== undefined)
  if (both.length === 2 && both[0] !== both[1]) {
    throw usageError(`Two sessions are given: ${both.join(' and ')}.`, 'Give one, as an argument or with --session.')
  }
  const named = both[0] ?? (spec.session === 'main' || spec.session === 'new' ? 'main' : undefined)
  if (named === undefined && spec.session === 'required') throw usageError('No session given.', helpHint(command))
  return { ...input, session: named }
}

const standard = new Help()

/** A group needs no entry for its `help` command: `--help` does the same. */
function visibleCommands(command: Command): Command[] {
  return standard.visibleCommands(command).filter((child) => !command.parent || child.name() !== 'help')
}

function subcommandTerm(command: Command): string {
  return [command.name(), ...argumentTerms(command)].join(' ')
}

/** An argument without a description is one of an earlier version: accepted, and not shown. */
function argumentTerms(command: Command): string[] {
  return command.registeredArguments.flatMap((argument) => {
    if (argument.description === '') return []
    const name = `${argument.name()}${argument.variadic ? '...' : ''}`
    return argument.required ? `<${name}>` : `[${name}]`
  })
}

function subcommandDescription(command: Command): string {
  const siblings = command.parent?.parent ? command.parent.commands : []
  const isDefault = siblings.length > 1 && siblings[0] === command
  return isDefault ? `${command.description()} (default)` : command.description()
}

function commandUsage(command: Command): string {
  const isGroup = command.commands.length > 0
  return [pathOf(command), ...(isGroup ? ['[command]'] : argumentTerms(command)), '[options]'].join(' ')
}

/** Usage, description, commands, arguments, options, global options, examples, notes. */
function formatHelp(command: Command, helper: Help): string {
  const width = helper.padWidth(command, helper)
  const item = (term: string, text: string) => helper.formatItem(term, width, text, helper)
  const spec = specs.get(command)
  const commands = helper.groupItems([...command.commands], helper.visibleCommands(command), (one) => headingOf(one))
  const options = helper.groupItems([], helper.visibleOptions(command), (one) => one.helpGroupHeading ?? 'Options:')
  const list = (heading: string, lines: readonly string[]) => (lines.length > 0 ? [heading, ...lines, ''] : [])
  const { aliases = [], notes, commands: inside = {} } = spec ?? {}
  const ofCommands = Object.values(inside).flatMap((one) => one.examples?.slice(0, 1) ?? [])
  const examples = spec?.examples ?? ofCommands.slice(0, 4)
  return [
    `Usage: ${helper.commandUsage(command)}`,
    '',
    helper.commandDescription(command),
    '',
    ...[...commands].flatMap(([heading, group]) =>
      list(
        heading,
        group.map((one) => item(helper.subcommandTerm(one), helper.subcommandDescription(one))),
      ),
    ),
    ...list(
      'Arguments:',
      helper.visibleArguments(command).map((one) => item(helper.argumentTerm(one), helper.argumentDescription(one))),
    ),
    ...[...options].flatMap(([heading, group]) =>
      list(
        heading,
        group.map((one) => item(helper.optionTerm(one), helper.optionDescription(one))),
      ),
    ),
    ...list(
      'Examples:',
      examples.map((example) => `  familiar ${example}`),
    ),
    ...(aliases.length > 0 ? [`Also: ${aliases.join(', ')}`, ''] : []),
    ...(notes === undefined ? [] : [notes, '']),
  ].join('\n')
}

function headingOf(command: Command): string {
  return command.helpGroup() || 'Commands:'
}
