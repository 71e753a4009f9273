import type { Argument, Command, Option } from 'commander'

/** What may stand at a place: these words, the names of something that is there, or whatever the shell offers. */
export type Values = { kind: 'words'; words: readonly string[] } | { kind: 'sessions' | 'capabilities' | 'anything' }

export interface CompletedCommand {
  /** `/caps/show`; empty for the program itself. */
  path: string
  commands: readonly { name: string; description: string }[]
  options: readonly { flags: readonly string[]; description: string; values: Values | undefined }[]
  /** Of its first argument. */
  argument: Values | undefined
}

/** Every command with what can follow it. */
export function commandTree(program: Command): CompletedCommand[] {
  return walk(program, '')
}

function walk(command: Command, path: string): CompletedCommand[] {
  const commands = command.commands.map((child) => ({ name: child.name(), description: child.description() }))
  const help = { flags: ['-h', '--help'], description: 'print this help', values: undefined }
  const [argument] = command.registeredArguments
  const own: CompletedCommand = {
    path,
    commands,
    options: [...command.options.filter((option) => !option.hidden).map(completedOption), help],
    argument: argument && argumentValues(argument, path),
  }
  return [own, ...command.commands.flatMap((child) => walk(child, `${path}/${child.name()}`))]
}

function completedOption(option: Option): CompletedCommand['options'][number] {
  const flags = [option.short, option.long].filter((flag) => flag !== undefined)
  const takesValue = option.required || option.optional
  return { flags, description: option.description, values: takesValue ? optionValues(option) : undefined }
}

function optionValues({ argChoices, long }: Option): Values {
  if (argChoices) return { kind: 'words', words: argChoices }
  return long === '--session' ? { kind: 'sessions' } : { kind: 'anything' }
}

function argumentValues(argument: Argument, path: string): Values {
  if (argument.argChoices) return { kind: 'words', words: argument.argChoices }
  if (argument.name() === 'session' || path === '/reset') return { kind: 'sessions' }
  const isCapability = path.startsWith('/caps/') && argument.name() === 'name' && path !== '/caps/new'
  return isCapability ? { kind: 'capabilities' } : { kind: 'anything' }
}
