import type { CompletedCommand, Values } from './command-tree.ts'
import { quoteForFish } from './shell-quote.ts'

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
  const offered = argument && listOf(argument)
  return [
    ...commands.map(({ name, description }) => `${here} -f -a ${quoteForFish(name)} -d ${quoteForFish(description)}`),
    ...(offered ? [`${here} -f -a ${offered}`] : []),
    ...options.map(({ flags, description, values }) => {
      const named = flags.map((flag) => (flag.startsWith('--') ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`))
      const list = values && listOf(values)
      const taken = values ? (list ? ['-x', '-a', list] : ['-r']) : []
      return [here, ...named, ...taken, '-d', quoteForFish(description)].join(' ')
    }),
  ]
}

function listOf(values: Values): string | undefined {
  switch (values.kind) {
    case 'words':
      return quoteForFish(values.words.join(' '))
    case 'sessions':
    case 'capabilities':
      // A list in parentheses is run when it is asked for, and its lines are taken as they are.
      return quoteForFish(`(familiar completion ${values.kind} 2>/dev/null)`)
    case 'anything':
      return undefined
  }
}
