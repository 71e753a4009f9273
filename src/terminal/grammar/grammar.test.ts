import { type Command, Help } from 'commander'
import { describe, expect, it } from 'vitest'
import { createProgram } from '../program.ts'
import { type CommandSpec, specOf } from './grammar.ts'

interface Chosen {
  input: Record<string, unknown>
  spec: CommandSpec
}

/** Parses a command line. */
async function parse(words: string[]): Promise<Chosen> {
  let chosen: Chosen | undefined
  const program = createProgram({
    version: '0.0.0',
    homePath: '/home',
    async run(_load, input, spec) {
      chosen = { input, spec }
    },
  })
  await program.parseAsync(words, { from: 'user' })
  if (!chosen) throw new Error('nothing was chosen')
  return chosen
}

/** The words of an example, without shell syntax. */
function wordsOf(example: string): string[] {
  const plain = example.replace(/ [<>|] .*$/, '')
  return [...plain.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(
    ([, single, double, bare]) => single ?? double ?? bare ?? '',
  )
}

const program = createProgram({ version: '0.0.0', homePath: '/home', run: async () => undefined })
const all = (command: Command): Command[] => [command, ...command.commands.flatMap(all)]
const commands = all(program)
  .slice(1)
  .flatMap((command) => {
    const spec = specOf(command)
    return spec ? [{ command, spec, path: pathOf(command) }] : []
  })
const leaves = commands.filter(({ spec }) => spec.run && !spec.hidden)

function pathOf(command: Command): string {
  return command.parent?.parent ? `${pathOf(command.parent)} ${command.name()}` : command.name()
}

describe('the help', () => {
  it.each(commands)('CLI-3 says in one plain line what $path does', ({ spec }) => {
    expect(spec.summary.length).toBeLessThanOrEqual(70)
    expect(spec.summary).toMatch(/^[A-Z][^\n]*[^.]$/)
  })

  it.each(leaves)('CLI-3 has examples of $path that the parser takes', async ({ spec }) => {
    const { examples = [] } = spec
    expect(examples).not.toEqual([])
    for (const example of examples) expect((await parse(wordsOf(example))).spec.summary, example).toBe(spec.summary)
  })

  it.each(commands)('CLI-3 describes every argument and option of $path', ({ command }) => {
    const isOld = (text: string) => text === ''
    for (const { description, hidden, flags } of command.options)
      expect(hidden || /^[A-Z]/.test(description), `${flags}: ${description}`).toBe(true)
    for (const argument of command.registeredArguments)
      expect(isOld(argument.description) || /^[A-Z]/.test(argument.description), argument.description).toBe(true)
  })

  it('CLI-3 has usage, description, commands, options, global options and examples in this order', () => {
    const text = program.commands.find((command) => command.name() === 'caps')?.helpInformation() ?? ''
    const parts = [
      'Usage:',
      'Manage tools',
      'Use:',
      'list',
      'Build:',
      'Global options:',
      '--home',
      'Examples:',
      'Also:',
    ]
    const places = parts.map((part) => text.indexOf(part))
    expect(places).toEqual(places.toSorted((one, other) => one - other))
    expect(places).not.toContain(-1)
    expect(text).not.toContain('help [command')
    const send = program.commands.find((command) => command.name() === 'send')?.helpInformation() ?? ''
    expect(send).toMatch(/^Usage: familiar send \[words\.\.\.\] \[options\]\n[\s\S]*\nArguments:\n[\s\S]*\nOptions:\n/)
    expect(send).not.toContain('--tier')
  })

  it('CLI-3 shows examples in the help of every group', () => {
    for (const { command, spec } of commands)
      if (!spec.hidden) expect(command.helpInformation()).toContain('Examples:\n  familiar ')
  })
})

describe('the grammar', () => {
  it.each(commands.filter(({ spec }) => spec.commands).map(({ path }) => path))(
    'CLI-3 lists with a bare "%s"',
    async (path) => {
      const [first] = Object.values(commands.find((one) => one.path === path)?.spec.commands ?? {})
      expect((await parse([path])).spec).toBe(first)
    },
  )

  it.each(['cancel', 'chat', 'history', 'log', 'context', 'export', 'reset', 'sessions archive', 'memory consolidate'])(
    'CLI-3 takes the session of %s as an argument and as --session',
    async (path) => {
      const words = path.split(' ')
      expect((await parse([...words, 'work'])).input.session).toBe('work')
      expect((await parse([...words, '--session', 'work'])).input.session).toBe('work')
      expect((await parse([...words, '-s', 'work', 'work'])).input.session).toBe('work')
      await expect(parse([...words, '-s', 'work', 'home'])).rejects.toThrow('Two sessions are given: work and home.')
    },
  )

  it('CLI-3 uses the session main if none is named, and asks for one where that would be dangerous', async () => {
    expect((await parse(['history'])).input.session).toBe('main')
    expect((await parse(['memory', 'consolidate'])).input.session).toBeUndefined()
    await expect(parse(['reset'])).rejects.toThrow('No session given.')
  })

  it.each([['send', 'x'], ['chat'], ['start'], ['schedules', 'add', '--at', 'now', 'x']])(
    'CLI-3 refuses a new session with a bad name in %j',
    async (...words) => {
      await expect(parse([...words, '--session', 'bad name!'])).rejects.toThrow(
        /A session name may only contain letters/,
      )
      expect((await parse([...words, '--session', 'wörk-2'])).input.session).toBe('wörk-2')
    },
  )

  // An earlier spelling, the one of today, and what both give.
  it.each([
    ['send x --tier full', 'send x --profile full'],
    ['users add ada --tier jive', 'users add ada --plan jive'],
    ['users tier ada jive', 'users plan ada jive'],
    ['memory add x --tier long_term', 'memory add x --retention long_term'],
    ['memory edit 1 --tier short_term', 'mem edit 1 --retention short_term'],
    ['memory import f --untrusted', 'memory import f --not-mine'],
    ['caps run x --args {}', 'capabilities run x --params {}'],
    ['tools run x --args {}', 'tool run x --params {}'],
    ['caps new x --runtime node', 'caps new x --language node'],
    ['caps secret x KEY', 'caps config x KEY'],
    ['service logs --lines 5', 'service logs -n 5'],
    ['uninstall --delete-data', 'uninstall --data'],
    ['token list', 'tokens ls'],
    ['token revoke 1', 'tokens rm 1'],
    ['schedule cancel 1', 'schedules remove 1'],
    ['schedule list --all', 'schedules --all'],
    ['secrets rotate-key', 'secrets rotate'],
    ['telegram unpair 1', 'telegram rm 1'],
    ['telegram contacts', 'telegram'],
    ['file list', 'files'],
    ['file read x', 'files read x'],
    ['memory forget x', 'memory rm x'],
    ['outbox --state failed', 'outbox list --state failed'],
    ['sessions --all', 'session list --all'],
    ['voice', 'voice status'],
    ['service', 'service status'],
  ])('CLI-3 takes "%s" for "%s"', async (earlier, now) => {
    const [one, other] = [await parse(earlier.split(' ')), await parse(now.split(' '))]
    expect(one.spec.summary).toBe(other.spec.summary)
    expect(one.input).toEqual(other.input)
  })

  it('CLI-3 prefers the new spelling of an option if both are given', async () => {
    expect((await parse(['send', 'x', '--tier', 'full', '--profile', 'operational'])).input.profile).toBe('operational')
    expect((await parse(['service', 'logs', '--lines', '5', '--limit', '7'])).input.limit).toBe(7)
  })

  it.each([
    [['tools', 'lst'], "unknown command 'lst' in 'familiar tools'.", 'Did you mean familiar tools list?'],
    [['users', 'banana'], "unknown command 'banana'", 'Commands: list, add, plan, rotate, remove'],
    [['mcp', 'aprove'], "unknown command 'aprove'", 'Did you mean familiar mcp approve?'],
    [['tools', 'list', 'x'], "too many arguments for 'list': x", 'Help: familiar tools list --help'],
  ])('CLI-3 refuses %j and says what was meant', async (words, message, hint) => {
    await expect(parse(words)).rejects.toMatchObject({ exitCode: 2, hint, message: expect.stringContaining(message) })
  })

  it('CLI-3 has no command under two names of the same group', () => {
    for (const command of all(program)) {
      const names = command.commands.flatMap((child) => [child.name(), ...child.aliases()])
      expect(names).toEqual([...new Set(names)])
    }
    expect(new Help().visibleCommands(program).length).toBeGreaterThan(40)
  })
})
