import type { Command } from 'commander'
import { addCommand, type CommandSpec, createRoot, type RunCommand } from './grammar/grammar.ts'
import { dataCommands, memoryCommands } from './grammar/memory.ts'
import { accessCommands, runCommands } from './grammar/run.ts'
import { talkCommands } from './grammar/talk.ts'
import { toolCommands } from './grammar/tools.ts'

/** The whole command line, with nothing run: `run` is called with what was chosen. */
export function createProgram(options: { version: string; homePath: string; run: RunCommand }): Command {
  const { version, homePath, run } = options
  const program = createRoot(version)
  const headings: Record<string, Record<string, CommandSpec>> = {
    'Chat:': talkCommands,
    'Start and configure:': runCommands,
    'Memory and files:': memoryCommands,
    'Tools:': toolCommands,
    'Users and access:': accessCommands,
    'Data and updates:': dataCommands,
    'Help:': { completion: completionSpec(program), version: versionSpec(version) },
  }
  for (const [heading, commands] of Object.entries(headings)) {
    program.commandsGroup(heading)
    for (const [name, spec] of Object.entries(commands)) addCommand(program, name, spec, { run })
  }
  return program.addHelpText('after', `\n${helpEpilogue(homePath)}`)
}

/** Made from the commands themselves, so that none is forgotten. */
function completionSpec(program: Command): CommandSpec {
  return {
    summary: 'Print a shell completion script',
    run: async () => (await import('./commands/completion.ts')).createPrintCompletion(program),
    args: {
      '<what>': {
        text: 'Shell; or a kind of names, which the script asks for',
        choices: ['bash', 'zsh', 'fish', 'sessions', 'capabilities'],
      },
    },
    examples: ['completion bash', 'completion fish > ~/.config/fish/completions/familiar.fish'],
    notes: `To load it in every shell:
  echo 'eval "$(familiar completion bash)"' >> ~/.bashrc
  echo 'eval "$(familiar completion zsh)"' >> ~/.zshrc`,
    createsHome: true,
  }
}

function versionSpec(version: string): CommandSpec {
  return {
    summary: 'Print the version',
    run: async () => async (context, input) => {
      if ((input as { json?: boolean }).json) context.output.printJson({ version })
      else context.output.print(version)
      return undefined
    },
    examples: ['version'],
    createsHome: true,
  }
}

function helpEpilogue(homePath: string): string {
  return `Examples:
  familiar start                                             start, and chat in this terminal
  familiar send "Remember that I am allergic to shellfish"
  familiar send "What am I allergic to?" --json | jq -r .reply
  git diff | familiar send - --session review
  familiar COMMAND --help                                    examples for every command

Home: ${homePath}
  All data is stored there. To use another place: --home PATH, or FAMILIAR_HOME.

To connect a model, do one of these:
  1. Set a key in the environment (ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY, OPENROUTER_API_KEY), or run a
     local server (Ollama, LM Studio, llama.cpp): it is found and used.
  2. Run "familiar setup", or write familiar.toml and providers.d/NAME.toml yourself.
  Without a model, the built-in offline model answers: it remembers and recalls, and says what it cannot do.

Exit codes: 0 success, 1 failure, 2 wrong usage, 3 Familiar cannot be reached, 130 canceled with Ctrl-C.`
}
