import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createProgram } from '../program.ts'
import { bashCompletion, commandTree, fishCompletion } from './completion.ts'

const program = createProgram({ version: '0.0.0', homePath: '/home', run: async () => undefined })
const tree = commandTree(program)
const has = (shell: string) => spawnSync(shell, ['-c', 'exit 0']).status === 0

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'familiar-completion-'))
  // Stands in for the program where the script asks it for names: one of them would do something if a shell ran it.
  writeFileSync(
    join(folder, 'familiar'),
    `#!/bin/sh\necho main\necho 'maybe$(touch ${folder}/ran)'\necho 'ma\`touch ${folder}/ran\`'\n`,
  )
  chmodSync(join(folder, 'familiar'), 0o755)
})
afterAll(() => rmSync(folder, { recursive: true }))

/** The words that the tab key offers after these words. */
function offered(shell: 'bash' | 'zsh', words: string[]): string[] {
  const ask = `
${shell === 'zsh' ? 'setopt ksh_arrays sh_word_split; complete() { :; }; autoload() { :; }; compinit() { :; }; bashcompinit() { :; }' : ''}
${bashCompletion(tree, shell)}
COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}
_familiar
for word in "\${COMPREPLY[@]}"; do printf '%s\\n' "$word"; done`
  const ended = spawnSync(shell, [shell === 'zsh' ? '-f' : '--norc', '-c', ask], {
    encoding: 'utf8',
    env: { PATH: `${folder}:${process.env.PATH}` },
  })
  expect(ended.stderr).toBe('')
  return ended.stdout.split('\n').filter(Boolean)
}

describe.each(['bash', 'zsh'] as const)('completion in %s', (shell) => {
  const inShell = it.skipIf(!has(shell))

  inShell('CLI-1 offers commands, their commands, their options and the choices of these', () => {
    expect(offered(shell, ['familiar', 'ser'])).toEqual(['service', 'serve'].sort((a, b) => order(a) - order(b)))
    expect(offered(shell, ['familiar', 'service', 'un'])).toEqual(['uninstall'])
    expect(offered(shell, ['familiar', 'send', '--pr'])).toEqual(['--profile'])
    expect(offered(shell, ['familiar', 'send', '--profile', ''])).toEqual(['full', 'operational'])
    expect(offered(shell, ['familiar', 'completion', 'f'])).toEqual(['fish'])
    // A value that is spelled like a command is none.
    expect(offered(shell, ['familiar', 'send', '--session', 'service', '--pr'])).toEqual(['--profile'])
  })

  inShell('CLI-1 offers the names of sessions as they are, and runs nothing that stands in one', () => {
    expect(offered(shell, ['familiar', 'history', 'ma'])).toContain('main')
    expect(offered(shell, ['familiar', 'send', '--session', 'ma'])).toHaveLength(3)
    expect(existsSync(join(folder, 'ran'))).toBe(false)
  })
})

const order = (name: string) => program.commands.findIndex((command) => command.name() === name)

it.skipIf(!has('bash'))('CLI-1 knows every command in bash', () => {
  const names = program.commands.map((command) => command.name())
  expect(offered('bash', ['familiar', '']).filter((word) => !word.startsWith('-'))).toEqual(names)
})

it.skipIf(!has('fish'))('CLI-1 offers the same in fish', () => {
  const ask = `${fishCompletion(tree)}\ncomplete -C 'familiar service un'\ncomplete -C 'familiar send --profile '`
  const ended = spawnSync('fish', ['-c', ask], {
    encoding: 'utf8',
    env: { PATH: `${folder}:${process.env.PATH}`, HOME: folder },
  })
  expect(ended.stderr).toBe('')
  const words = ended.stdout.split('\n').map((line) => line.split('\t')[0])
  expect(words).toEqual(expect.arrayContaining(['uninstall', 'full', 'operational']))
})
