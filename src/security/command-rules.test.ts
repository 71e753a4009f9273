import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openTestDatabase } from '../../test/support/open-test-database.ts'
import { systemClock } from '../base/clock.ts'
import { createIds } from '../base/ids.ts'
import { commandParts, readCommandRule } from './command-rules.ts'
import { createGrants } from './permissions.ts'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'familiar-commands-'))
  mkdirSync(join(folder, 'bin'))
  for (const name of ['git', 'npm', 'ls', 'cat', 'head', 'id', 'tee']) {
    // The names of its arguments, each ended by a zero byte, in a file of its own.
    const script = `#!/bin/sh\nfor word in "\${0##*/}" "$@"; do printf '%s\\0' "$word"; done > "$RECORDS/$$"\n`
    writeFileSync(join(folder, 'bin', name), script)
    chmodSync(join(folder, 'bin', name), 0o755)
  }
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Runs the text in bash, where every program only writes down its arguments. */
function programsRunBy(text: string): string[][] {
  const place = mkdtempSync(join(folder, 'run-'))
  const records = join(place, 'records')
  const work = join(place, 'work')
  mkdirSync(records)
  mkdirSync(work)
  const environment = { PATH: join(folder, 'bin'), RECORDS: records, HOME: work, A: 'ls; id', B: '-x y' }
  const options = { cwd: work, env: environment, timeout: 10_000, input: '' }
  spawnSync('/bin/bash', ['--noprofile', '--norc', '-c', `${text}\n`], options)
  const run = readdirSync(records).map((name) => readFileSync(join(records, name), 'utf8').split('\0').slice(0, -1))
  rmSync(place, { recursive: true, force: true })
  return run
}

/** As the canonical spelling is defined, written a second time. */
function spelled(words: readonly string[]): string {
  const bare = /^(?:[\w./:=@%+,^-]|(?<=\w)~)+$/
  return words.map((word) => (bare.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`)).join(' ')
}

const word = fc.constantFrom(
  ...['git', 'npm', 'ls', 'cat', 'head', 'id', 'tee', 'status', '-3', 'log', 'a=b', '~', 'HEAD~1', '*', '?', '[a]'],
  ...[
    '{a,b}',
    '$A',
    '$'.concat('{B}'),
    '"$B"',
    '$(id)',
    '`id`',
    '<(id)',
    "$'id'",
    '$"id"',
    '"a b"',
    "'a  b'",
    "'$A'",
    '\\',
    '\\;',
  ],
  ...[
    '"',
    "'",
    '#',
    '!',
    'time',
    'echo',
    'eval',
    'cd',
    'A=1',
    'PATH=.',
    'if',
    'then',
    'fi',
    'function',
    'coproc',
    '((',
    '))',
  ],
  ...['[[', ']]', 'x', 'é', 'alias', '\u00a0', '\t', '$((1+1))', 'bash', '-c', "'id'", 'command', 'a"b"c', "x'y'"],
)
const joint = fc.constantFrom(
  ...[
    ' ',
    ' ',
    ' ',
    ' ',
    ' ',
    '',
    '; ',
    ' && ',
    ' || ',
    ' | ',
    ' |& ',
    ' & ',
    '\n',
    '\\\n',
    ' > ',
    ' >> ',
    ' 2>&1 ',
    ' <<< ',
  ],
  ...[
    ' >/dev/null ',
    ' 2>/dev/null ',
    '&>/dev/null ',
    ' << x\n',
    ' ( ',
    ' ) ',
    ' { ',
    '; } ',
    '\r',
    '\r\n',
    ';',
    '&',
    '|',
    '>&2 ',
  ],
)
const shellText = fc
  .array(fc.tuple(word, joint), { minLength: 1, maxLength: 8 })
  .map((pieces) => pieces.flat().join(''))

describe('commandParts', () => {
  it('SEC-16b whatever bash runs of a covered text is one of its parts, word by word', () => {
    let covered = 0
    fc.assert(
      fc.property(fc.tuple(fc.constantFrom('git ', 'npm ', 'ls ', ''), shellText), (pieces) => {
        const text = pieces.join('')
        const parts = commandParts(text)
        if (!parts) return
        covered += 1
        for (const words of programsRunBy(text)) expect(parts).toContain(spelled(words))
      }),
      { numRuns: 3_000 },
    )
    expect(covered).toBeGreaterThan(20)
  }, 120_000)

  it('SEC-16b plain commands with quotes and joints are covered, and all of their parts are programs that ran', () => {
    const plain = fc.stringMatching(/^[a-zA-Z0-9_./:=@%+,^-]{1,8}$/)
    const quotedText = fc.string({ maxLength: 8, unit: fc.constantFrom(...'ab $*;&|<>(){}#!~?[]\\`é"') })
    const inSingle = quotedText.map((text) => `'${text}'`)
    const inDouble = quotedText.map((text) => `"${text.replaceAll(/["$`\\!]/g, '')}"`)
    const program = fc.constantFrom('git', 'npm', 'ls')
    const command = fc.tuple(program, fc.array(fc.oneof(plain, inSingle, inDouble), { maxLength: 4 }))
    const text = fc.array(
      command.map(([name, words]) => [name, ...words].join(' ')),
      { minLength: 1, maxLength: 3 },
    )
    fc.assert(
      fc.property(text, fc.constantFrom('; ', ' && ', ' | ', '\n', ' 2>&1 | '), (commands, between) => {
        const parts = commandParts(commands.join(between))
        const ran = programsRunBy(commands.join(between)).map(spelled)
        expect([...(parts ?? [])].sort()).toEqual([...new Set(ran)].sort())
      }),
      { numRuns: 120 },
    )
  }, 120_000)

  it('SEC-16b no text of any characters throws', () => {
    fc.assert(fc.property(fc.string({ unit: 'binary', maxLength: 60 }), (text) => void commandParts(text)))
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom(...'git $(){}<>&|;"\'`\\\n#*~!='), maxLength: 40 }),
        (text) => void commandParts(text),
      ),
    )
  }, 120_000)

  it.each([
    ['git status', ['git status']],
    ['  git   log  -3 ', ['git log -3']],
    [`git commit -m "two words"`, [`git commit -m 'two words'`]],
    [`git log 'a'"b"c`, ['git log abc']],
    [`git log "it's"`, [`git log 'it'"'"'s'`]],
    ['git show HEAD~2 HEAD^', ['git show HEAD~2 HEAD^']],
    ['git add . && npm test 2>&1 | head -5; ls >/dev/null &', ['git add .', 'npm test', 'head -5', 'ls']],
    ['git status\ngit status', ['git status']],
    ['/usr/bin/git status', ['/usr/bin/git status']],
    ['echo \'*\' "a > b"', ["echo '*' 'a > b'"]],
  ])('SEC-16b %s', (text, parts) => expect(commandParts(text)).toEqual(parts))

  it.each([
    ...[
      'git log $(id)',
      'git log `id`',
      'git log "$(id)"',
      'git log $HOME',
      'cat <(id)',
      'git log *',
      'ls ~',
      'ls a=~/x',
      'ls {a,b}',
    ],
    ...[
      '(git status)',
      '{ git status; }',
      'if git status; then id; fi',
      'while id; do id; done',
      'git() { id; }; git status',
      '! git status',
    ],
    ...[
      'PATH=. git status',
      'GIT_PAGER=id git log',
      'A=1',
      'git log > out',
      'git log >> /etc/passwd',
      'git log >| a',
      'cat < secret',
      'cat << x\nid\nx',
    ],
    ...[
      'cat <<< x',
      'git log 2>&3',
      'exec 3<>/dev/tcp/1.1.1.1/80',
      'cd /; git status',
      'alias git=id; git status',
      'eval id',
      '. ./x',
      'source x',
    ],
    ...[
      'bash -c id',
      'sudo id',
      'env id',
      'xargs id',
      'python3.12 x.py',
      'node x.js',
      './run.sh',
      'bin/run',
      '../x',
      '\\git status',
      '"git" status',
    ],
    ...[
      'git sta\\\ntus',
      'git status # note',
      'git status\r',
      'git\u00a0status',
      "git log $'a'",
      'git log $"a"',
      "git log 'a\nb'",
      'git log "\u202e"',
    ],
    ...[
      '',
      ' ',
      ';',
      'git log "',
      "git log '",
      'git log &&',
      'export PATH=.',
      'printf -v a b',
      "[ -v 'a[$(id)]' ]",
      'time git status',
      'trap id EXIT',
    ],
    ...[
      'hash -p /bin/id git; git status',
      'git log {fd}>/dev/null',
      `git ${'x'.repeat(3_000)}`,
      Array(11)
        .fill('ls x')
        .map((one, at) => one + at)
        .join(';'),
    ],
  ])('SEC-16b covers nothing of %j', (text) => expect(commandParts(text)).toBeUndefined())
})

describe('readCommandRule', () => {
  it.each([
    ['git status', 'git status'],
    [' git  log   * ', 'git log *'],
    ['npm run "my script"', "npm run 'my script'"],
  ])('SEC-16b stores %j as %j', (text, rule) => expect(readCommandRule(text)).toEqual({ ok: true, value: rule }))

  it.each([
    '',
    '*',
    ' *',
    'git*',
    'git * status',
    'git status; id',
    'bash *',
    'sudo apt *',
    'python *',
    'git $A *',
    'git "a *',
    'cd *',
  ])('SEC-16b refuses %j and says what a rule is', (text) =>
    expect(readCommandRule(text)).toEqual({ ok: false, message: expect.stringContaining('"git log *"') }),
  )

  it('SEC-16b rules allow a command only if each of its parts has one, and no longer word counts as the same', async () => {
    const clock = systemClock()
    const database = await openTestDatabase({ directory: folder, clock })
    const grants = createGrants({ database, key: () => new Uint8Array(32), clock, ids: createIds(clock) })
    await database.write(async (writer) => {
      await writer.insertInto('users').values({ id: 'anna', name: 'anna', role: 'owner', created_at: 0 }).execute()
      for (const text of ['git status', 'git log *', "echo 'a b'"]) {
        const rule = readCommandRule(text)
        if (!rule.ok) throw new Error(rule.message)
        const given = { userId: 'anna', subject: 'exec', effect: 'host' as const, destination: rule.value }
        await grants.giveIn(writer, { ...given, sessionId: null, expiresAt: null, from: 'cli' })
      }
    })
    const covers = (text: string) => {
      const reach = { kind: 'host' as const, destination: 'exec:host', grants: commandParts(text) ?? [] }
      return database.write((writer) => grants.covers(writer, { userId: 'anna', sessionIds: [], tool: 'exec', reach }))
    }
    for (const text of [
      'git status',
      'git log',
      "git log -3 'x; y'",
      'git status && git log -1 | git log',
      'echo "a b"',
    ])
      expect([text, await covers(text)]).toEqual([text, true])
    for (const text of [
      ...[
        'git status -s',
        'git logs',
        'git logx -1',
        'git "log -3"',
        "git 'log *'",
        'git status; id',
        'git log | tee',
        'echo a b',
      ],
      ...['git log $(id)', 'git log > x', 'git', 'git status && $A', '/tmp/git status'],
    ])
      expect([text, await covers(text)]).toEqual([text, false])
    await database.close()
  })
})
