import { Argument, type Command } from 'commander'
import type { DefineCommand } from './memory-command.ts'

/** `familiar completion SHELL`: made from the commands themselves, so that none is forgotten. */
export function addCompletionCommand(program: Command, define: DefineCommand): void {
  const load = async () => (await import('./completion/print-completion.ts')).createPrintCompletion(program)
  define('completion', 'print what a shell needs to complete commands', load)
    .addArgument(
      new Argument('<what>', 'a shell; or names of what is there, for that shell').choices([
        'bash',
        'zsh',
        'fish',
        'sessions',
        'capabilities',
      ]),
    )
    .addHelpText('after', examples)
}

const examples = `
Examples:
  echo 'eval "$(familiar completion bash)"' >> ~/.bashrc
  echo 'eval "$(familiar completion zsh)"' >> ~/.zshrc
  familiar completion fish > ~/.config/fish/completions/familiar.fish`
