import type { Command } from 'commander'
import { expect, it } from 'vitest'
import { exitCodes } from '../../src/cli/command-error.ts'
import { createProgram } from '../../src/cli/program.ts'

/** `send --message <text> …`, one line for each command, without what every command understands. */
function describeCommand(command: Command, path = ''): string[] {
  const name = `${path}${command.name()}`
  const everywhere = ['--home <path>', '--json']
  const flags = command.options.map(({ flags }) => flags).filter((flags) => !everywhere.includes(flags))
  const values = command.registeredArguments.map((argument) =>
    argument.required ? `<${argument.name()}>` : `[${argument.name()}]`,
  )
  const line = [name, ...values, ...flags.map((flag) => `(${flag})`)].join(' ')
  return [line, ...command.commands.flatMap((child) => describeCommand(child, `${name} `))]
}

const program = createProgram({ version: '0.0.0', homePath: '/home', run: async () => undefined })

it('CLI-1 has these commands and flags', () => {
  expect(program.commands.flatMap((command) => describeCommand(command)).sort()).toEqual([
    'approvals',
    'approvals approve <id>',
    'approvals deny <id>',
    'approvals list',
    'backup [path]',
    'caps',
    'caps answer <question> <text>',
    'caps builds [name] (-n, --limit <count>)',
    'caps diff <name> [from] [to]',
    'caps disable <name>',
    'caps enable <name> (-y, --yes)',
    'caps export <name> <directory>',
    'caps import <directory>',
    'caps list (--state <state>) (--query <words>)',
    'caps logs <name> (-n, --limit <count>)',
    'caps new <name> (--runtime <runtime>)',
    'caps register <path>',
    'caps repair <name> (--problem <text>)',
    'caps review',
    'caps rollback <name> [version]',
    'caps run <name> (--args <json>) (--version <number>)',
    'caps secret <name> <key>',
    'caps show <name>',
    'caps stop <build>',
    'caps watch <build>',
    'chat (-s, --session <session>) (--once)',
    'context [session]',
    'cost (--period <period>)',
    'doctor (--network)',
    'export (-s, --session <session>) (--all) (-o, --out <directory>)',
    'file',
    'file edit <path> (--old <text>) (--new <text>) (--all) (--etag <etag>)',
    'file history <path>',
    'file list [path]',
    'file read <path> (--offset <line>) (--limit <lines>)',
    'file undo <path> (--to <version>)',
    'file write <path> (--content <text>) (--etag <etag>)',
    'forget <words> (--everything) (--alias) (-y, --yes)',
    'history [session] (--full)',
    'import',
    'import hermes <path> (-y, --yes)',
    'import openclaw <path> (-y, --yes)',
    'import undo <record>',
    'log (-s, --session <session>) (-f, --follow)',
    'mcp',
    'mcp approve <name> (-y, --yes)',
    'mcp disable <name>',
    'mcp list',
    'mcp show <name>',
    'memory',
    'memory add [words] (--title <title>) (--category <category>) (-t, --tag <tag>) (--tier <tier>) (--priority <share>) (--fact) (--confidence <share>) (--multi-valued) (--commitment) (--who <name>) (--to <name>) (--by <day>) (--alias)',
    'memory consolidate (-s, --session <session>)',
    'memory done <ids> (--cancel) (--reopen)',
    'memory edit <id> (--title <title>) (--category <category>) (-t, --tag <tag>) (--tier <tier>) (--priority <share>) (--content <text>) (--by <day>)',
    'memory export [file] (--format <format>)',
    'memory forget <words> (--everything) (--alias) (-y, --yes)',
    'memory graph [id] (--depth <steps>) (--link <other>) (--unlink <other>) (--relation <relation>)',
    'memory import <file> (--mine) (--folders)',
    'memory index [path] (--remove <path>) (--list)',
    'memory list (-k, --kind <kind>) (-n, --limit <count>) (--entity <name>) (--attribute <attribute>) (--value <value>) (--history) (--count) (--state <state>)',
    'memory search <words> (-k, --kind <kind>) (-n, --limit <count>) (--explain) (--deep) (--style <style>)',
    'memory show <id>',
    'memory stats',
    'memory undo [change] (--list)',
    'monitor (-w, --watch)',
    'reset <target> (-y, --yes)',
    'restore <path> (-y, --yes)',
    'schedule',
    'schedule add <message> (--name <name>) (-s, --session <session>) (--time-zone <zone>) (--catch-up <policy>) (--at <time>) (--cron <fields>)',
    'schedule cancel <schedule>',
    'schedule heartbeat (--name <name>) (-s, --session <session>) (--time-zone <zone>) (--catch-up <policy>) (--every <interval>)',
    'schedule list (--all)',
    'schedule run <schedule>',
    'schedule show <schedule>',
    'secrets',
    'secrets list',
    'secrets rotate-key (--discard-lost)',
    'send (-m, --message <text>) (-s, --session <session>) (--from <sender>) (--source <source>) (--tier <tier>) (-a, --attach <file>) (--key <key>) (--no-wait)',
    'serve (-p, --port <port>) (--host <address>)',
    'sessions (--all)',
    'setup',
    'skills',
    'skills disable <name>',
    'skills enable <name> (-y, --yes)',
    'skills list',
    'skills new <name> (--description <text>)',
    'skills show <name>',
    'start (-p, --port <port>) (--host <address>) (-s, --session <session>)',
    'status',
    'stop [session]',
    'token',
    'token rotate',
    'tools',
    'tools allow <name> [hosts] (--remove)',
    'tools config <name> [settings] (--unset <key>)',
    'tools disable <name>',
    'tools enable <name>',
    'tools hook <name>',
    'tools list (--all)',
    'tools logs <name> (-n, --limit <count>)',
    'tools new <name> (--language <language>) (--description <text>)',
    'tools run <name> (--params <json>) (--telemetry <json>)',
    'tools runs [name] (-n, --limit <count>)',
    'tools show <name>',
    'tools test <name>',
    'users',
    'users add <name> (--tier <tier>) (--scope <scope>)',
    'users list',
    'users remove <name> (-o, --out <directory>) (-y, --yes)',
    'users rotate <name>',
    'users tier <name> <tier>',
  ])
})

it('CLI-1 takes --home and --json before and after every command', () => {
  for (const command of [program, ...program.commands, ...program.commands.flatMap((parent) => parent.commands)]) {
    expect(
      command.options.map(({ long }) => long),
      command.name(),
    ).toEqual(expect.arrayContaining(['--home', '--json']))
  }
  expect(program.options.map(({ long }) => long).sort()).toEqual(['--home', '--json', '--version'])
})

it('CLI-1 ends with these codes', () => {
  expect(exitCodes).toEqual({ fine: 0, failed: 1, usage: 2, unreachable: 3, interrupted: 130 })
})
