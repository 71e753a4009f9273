import type { CompletedCommand, Values } from './command-tree.ts'
import { quoteForShell } from './shell-quote.ts'

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
  const words = [...commands.map(({ name }) => name), ...options.flatMap(({ flags }) => flags.filter(isLong))]
  if (!argument || argument.kind === 'anything') return quoteForShell(words.join('\n'))
  return `${listOf(argument)}$'\\n'${quoteForShell(words.join('\n'))}`
}

function isLong(flag: string): boolean {
  return flag.startsWith('--')
}

function listOf(values: Values): string {
  switch (values.kind) {
    case 'words':
      return quoteForShell(values.words.join('\n'))
    case 'sessions':
    case 'capabilities':
      return `$(familiar completion ${values.kind} 2>/dev/null)`
    case 'anything':
      return "''"
  }
}
