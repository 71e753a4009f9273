import { type Argument, type Command, Help, type Option } from 'commander'
import { readDaemonInfo } from '../../daemon/daemon-lock.ts'
import { sessions } from '../../protocol/api.ts'
import { capabilities } from '../../protocol/custom-tools.ts'
import type { CommandHandler } from '../command.ts'
import { type ApiClient, createApiClient } from '../connect.ts'

type What = 'bash' | 'zsh' | 'fish' | 'sessions' | 'capabilities'

/** Prints a shell's script, or names for it. Names come only from a daemon that runs: a key press must start nothing. */
export function createPrintCompletion(program: Command): CommandHandler<{ what: What }> {
  return async ({ homePath, stdout }, { what }) => {
    if (what === 'bash' || what === 'zsh') stdout.write(bashCompletion(commandTree(program), what))
    else if (what === 'fish') stdout.write(fishCompletion(commandTree(program)))
    else {
      const info = readDaemonInfo(homePath)
      const names = info ? await namesOf(createApiClient(info), what) : []
      // Other people choose names, too. Names that need quoting are not offered.
      for (const name of new Set(names)) if (/^[\p{L}\p{N}_.:@+-]+$/u.test(name)) stdout.write(`${name}\n`)
    }
    return undefined
  }
}

async function namesOf(client: ApiClient, what: 'sessions' | 'capabilities'): Promise<string[]> {
  if (what === 'sessions') return (await client.api(sessions).list()).sessions.map(({ contact }) => contact)
  return (await client.api(capabilities).list()).capabilities.map(({ name }) => name)
}

/** One word for sh, bash and zsh, whatever is in it. */
function quoteForShell(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}

/** One word for fish, whose quotes know backslashes. */
function quoteForFish(text: string): string {
  return `'${text.replace(/[\\']/g, '\\$&')}'`
}

/**
 * For bash, and with `zsh` for a zsh that speaks its language. Names are compared one by one: `compgen -W` would run
 * what stands in a name between backquotes.
 */
export function bashCompletion(commands: readonly CompletedCommand[], shell: 'bash' | 'zsh'): string {
  const paths = commands.filter(({ path }) => path !== '').map(({ path }) => quoteForShell(path))
  const taking = commands.flatMap(({ path, options }) =>
    options.flatMap(({ flags, values }) => (values ? [{ keys: flags.map((flag) => `${path}:${flag}`), values }] : [])),
  )
  const opening = shell === 'zsh' ? 'autoload -Uz compinit bashcompinit && compinit && bashcompinit\n' : ''
  return `# Completion of familiar for ${shell}: eval "$(familiar completion ${shell})"
${opening}_familiar() {
  local current=\${COMP_WORDS[COMP_CWORD]} at='' before='' word index offered=''
  COMPREPLY=()
  for ((index = 1; index < COMP_CWORD; index++)); do
    word=\${COMP_WORDS[index]}
    case "$at:$before" in
      ${taking.flatMap(({ keys }) => keys.map(quoteForShell)).join('|')}) before='' ;;
      *)
        before=$word
        case "$at/$word" in
          ${paths.join('|')}) at="$at/$word" ;;
        esac
        ;;
    esac
  done
  case "$at:$before" in
${taking.map(({ keys, values }) => `    ${keys.map(quoteForShell).join('|')}) offered=${listOf(values)} ;;`).join('\n')}
    *)
      case "$at" in
${commands.map((command) => `        ${quoteForShell(command.path)}) offered=${wordsAfter(command)} ;;`).join('\n')}
      esac
      ;;
  esac
  while IFS= read -r word; do
    if [[ -n $word && $word == "$current"* ]]; then COMPREPLY+=("$word"); fi
  done <<< "$offered"
}
complete -o default -F _familiar familiar
`
}

function wordsAfter({ commands, options, argument }: CompletedCommand): string {
  const long = options.flatMap(({ flags }) => flags.filter((flag) => flag.startsWith('--')))
  const words = [...commands.map(({ name }) => name), ...long]
  if (!argument || argument === 'anything') return quoteForShell(words.join('\n'))
  return `${listOf(argument)}$'\\n'${quoteForShell(words.join('\n'))}`
}

function listOf(values: Values): string {
  if (values === 'anything') return "''"
  return typeof values === 'string' ? `$(familiar completion ${values} 2>/dev/null)` : quoteForShell(values.join('\n'))
}

/** The offers at a place: these words, the names of something that is there, or whatever the shell offers. */
type Values = readonly string[] | 'sessions' | 'capabilities' | 'anything'

interface CompletedCommand {
  /** `/caps/show`; empty for the program itself. */
  path: string
  commands: readonly { name: string; description: string }[]
  options: readonly { flags: readonly string[]; description: string; values: Values | undefined }[]
  /** Of its first argument. */
  argument: Values | undefined
}

/** Every command with the words that can follow it. */
export function commandTree(command: Command, path = ''): CompletedCommand[] {
  const shown = new Help().visibleCommands(command).filter((child) => child.name() !== 'help')
  const commands = shown.map((child) => ({ name: child.name(), description: child.description() }))
  const help = { flags: ['-h', '--help'], description: 'Print this help', values: undefined }
  const [argument] = command.registeredArguments
  const own: CompletedCommand = {
    path,
    commands,
    options: [...command.options.filter((option) => !option.hidden).map(completedOption), help],
    argument: argument && argumentValues(argument, path),
  }
  return [own, ...shown.flatMap((child) => spellings(child).flatMap((name) => commandTree(child, `${path}/${name}`)))]
}

/** A group is completed under all of its names. */
function spellings(command: Command): string[] {
  return command.commands.length > 0 ? [command.name(), ...command.aliases()] : [command.name()]
}

function completedOption(option: Option): CompletedCommand['options'][number] {
  const flags = [option.short, option.long].filter((flag) => flag !== undefined)
  const takesValue = option.required || option.optional
  return { flags, description: option.description, values: takesValue ? optionValues(option) : undefined }
}

function optionValues({ argChoices, long }: Option): Values {
  return argChoices ?? (long === '--session' ? 'sessions' : 'anything')
}

function argumentValues(argument: Argument, path: string): Values {
  if (argument.argChoices) return argument.argChoices
  if (argument.name() === 'session') return 'sessions'
  const isCapability = /^\/cap(s|abilit(y|ies))?\/(?!new)/.test(path) && argument.name() === 'name'
  return isCapability ? 'capabilities' : 'anything'
}

export function fishCompletion(commands: readonly CompletedCommand[]): string {
  const paths = commands.filter(({ path }) => path !== '').map(({ path }) => quoteForFish(path))
  return `# Completion of familiar for fish: familiar completion fish > ~/.config/fish/completions/familiar.fish
function __familiar_at
    set -l at ''
    for word in (commandline -opc)[2..-1]
        if contains -- "$at/$word" ${paths.join(' ')}
            set at "$at/$word"
        end
    end
    test "$at" = "$argv[1]"
end
complete -c familiar -e
${commands.flatMap(linesOf).join('\n')}
`
}

function linesOf({ path, commands, options, argument }: CompletedCommand): string[] {
  const here = `complete -c familiar -n ${quoteForFish(`__familiar_at ${quoteForFish(path)}`)}`
  const offered = argument && fishCompletionListOf(argument)
  return [
    ...commands.map(({ name, description }) => `${here} -f -a ${quoteForFish(name)} -d ${quoteForFish(description)}`),
    ...(offered ? [`${here} -f -a ${offered}`] : []),
    ...options.map(({ flags, description, values }) => {
      const named = flags.map((flag) => (flag.startsWith('--') ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`))
      const list = values && fishCompletionListOf(values)
      const taken = values ? (list ? ['-x', '-a', list] : ['-r']) : []
      return [here, ...named, ...taken, '-d', quoteForFish(description)].join(' ')
    }),
  ]
}

function fishCompletionListOf(values: Values): string | undefined {
  if (values === 'anything') return undefined
  // A list in parentheses is run when it is asked for, and its lines are taken as they are.
  return quoteForFish(typeof values === 'string' ? `(familiar completion ${values} 2>/dev/null)` : values.join(' '))
}
