import { type Command, done, misused, never } from './command.ts'

export function createHelpCommand(all: () => readonly Command[]): Command {
  const help: Command = {
    name: 'help',
    usage: '/help [COMMAND]',
    summary: 'what commands there are, or how one is used',
    changesForGood: false,
    agentMay: true,
    acts: never,
    complete: async () => all().map(({ name }) => name),
    async run({ argument, by }) {
      const offered = all().filter((command) => by === 'user' || command.agentMay)
      if (argument === '') return done(lines(offered))
      const wanted = argument.replace(/^\//, '').toLowerCase()
      const command = offered.find(({ name }) => name === wanted)
      if (!command) return misused(`There is no /${wanted.slice(0, 40).toWellFormed()}.`, help)
      const asks = command.changesForGood ? '\nWhat it changes for good it asks about first.' : ''
      return done(`${command.usage}\n${sentence(command.summary)}${asks}`)
    },
  }
  return help
}

function lines(commands: readonly Command[]): string {
  const width = Math.max(...commands.map(({ usage }) => usage.length))
  return commands.map(({ usage, summary }) => `${usage.padEnd(width)}  ${summary}`).join('\n')
}

function sentence(summary: string): string {
  return `${summary.slice(0, 1).toUpperCase()}${summary.slice(1)}.`
}
