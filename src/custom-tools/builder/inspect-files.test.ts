import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { anyText } from '../../../test/support/any-text.ts'
import type { Json } from '../../protocol/messages.ts'
import { createRedactor } from '../../security/redactor.ts'
import { readRequirements } from '../tool-folder.ts'
import { findHidden, findSecrets, readExamples } from './inspect-files.ts'

const find = (text: string, known: string[] = []) =>
  findSecrets(new Map([['main.py', Buffer.from(text)]]), createRedactor(known))

describe('findSecrets', () => {
  it.each([
    ['an API key', `sk-proj-${'aB3_'.repeat(6)}`],
    ['an API key', `sk_live_${'a1'.repeat(10)}`],
    ['a GitHub token', `ghp_${'a1B2'.repeat(9)}`],
    ['a GitHub token', `github_pat_${'a1B2_'.repeat(9)}`],
    ['a GitLab token', `glpat-${'a1B2'.repeat(5)}`],
    ['an AWS key', `AKIA${'ABCD1234'.repeat(2)}`],
    ['a Google key', `AIza${'a1B2_'.repeat(7)}`],
    ['a Slack token', 'xoxb-123456789012-abcdef'],
    ['a Telegram token', `12345678:${'a1B2_'.repeat(7)}`],
    ['a signed token', `eyJ${'a'.repeat(20)}.eyJ${'b'.repeat(20)}.${'c'.repeat(20)}`],
    ['a bearer token', `Authorization: Bearer ${'a1b2'.repeat(10)}`],
    ['a private key', '-----BEGIN OPENSSH PRIVATE KEY-----'],
  ])('CAP-4 knows the shape of %s, and says the line and not the value', (what, value) => {
    const [problem = '', ...more] = find(`x = 1\nKEY = "${value}"\n`)
    expect(problem).toContain(`main.py, line 2: this is ${what}.`)
    expect(problem).not.toContain(value)
    expect(more).toEqual([])
  })

  it.each([
    'headers = {"Authorization": "Bearer " + context.secrets["TOKEN"]}',
    'task-force = sk-ip',
    'hash = "d41d8cd98f00b204e9800998ecf8427e"',
    'AKIA = "too short"',
  ])('CAP-4 leaves code alone that only speaks of secrets: %s', (line) => {
    expect(find(line)).toEqual([])
  })

  it('CAP-4 finds a known secret that goes over several lines', () => {
    expect(find('a\nfirst line of it\nsecond line of it\n', ['first line of it\nsecond line of it'])).toEqual([
      expect.stringContaining('main.py, line 2: this is a secret of yours.'),
    ])
  })

  it('CAP-4 comes to an end with every text, and never throws', () => {
    for (const part of ['eyJa-', 'sk-', 'Bearer ', 'BEGIN A ', '12345678:', 'a.eyJ', ' ', '0']) {
      find(part.repeat(250_000 / part.length))
    }
    fc.assert(
      fc.property(anyText, (text) => {
        for (const problem of find(text, ['a known value'])) expect(problem).toMatch(/^main\.py, line \d+: this is /)
      }),
    )
  })
})

describe('findHidden', () => {
  it('SEC-14 finds the first invisible character, except in examples and binary files', () => {
    const files = {
      'main.py': 'x = 1\ny = "a\u200bb"\n',
      'examples.json': '"\u200b"',
      'RUN.md': 'Rezepte 👨‍🍳\n',
    }
    const given = new Map<string, Uint8Array>(Object.entries(files).map(([path, text]) => [path, Buffer.from(text)]))
    given.set('data.bin', Uint8Array.of(0xff, 0x00, 0xe2, 0x80, 0xae))
    expect(findHidden(given)).toEqual(['main.py, line 2: U+200B cannot be seen. Write it as an escape.'])
  })
})

const problem = (value: Json) => {
  const reading = readExamples(JSON.stringify(value))
  return reading.ok ? '' : reading.problems.join(' ')
}

describe('readExamples', () => {
  it('CAP-4 takes each kind of expectation', () => {
    const examples = [
      { input: {}, expect: { equals: null } },
      { input: { a: [1] }, expect: { contains: 'x' } },
      { input: {}, expect: { matches: '^(a+)+$' } },
      { input: {}, expect: { schema: { type: 'object' } } },
    ]
    expect(readExamples(JSON.stringify(examples))).toEqual({ ok: true, examples })
  })

  it('CAP-8 accepts an input with invisible characters: it may have failed in use', () => {
    expect(problem([{ input: { text: 'a\u200bb' }, expect: { contains: 'a' } }])).toBe('')
  })

  it.each<[string, Json, string]>([
    ['none', [], 'expected at least 1 entries'],
    ['too many', Array.from({ length: 21 }, () => ({ input: {}, expect: { equals: 1 } })), 'at most 20 entries'],
    ['no list', { input: {} }, 'expected a list'],
    ['no input', [{ expect: { equals: 1 } }], '[0].input: expected an object, found nothing'],
    ['an input that is a text', [{ input: 'x', expect: { equals: 1 } }], '[0].input: expected an object'],
    ['no expectation', [{ input: {} }], '[0].expect: expected an object with one of'],
    [
      'two expectations',
      [{ input: {}, expect: { equals: 1, contains: 'x' } }],
      '[0].expect: expected an object with one',
    ],
    ['an empty text', [{ input: {}, expect: { contains: '' } }], '[0].expect'],
    ['an unknown key', [{ input: {}, expect: { equals: 1 }, skip: true }], '[0]'],
  ])('CAP-4 says where they are wrong: %s', (_, value, expected) => {
    expect(problem(value)).toContain(expected)
  })

  it('CAP-4 never throws, whatever the text', () => {
    const value = fc.jsonValue({ stringUnit: 'binary' })
    const near = fc.array(fc.record({ input: value, expect: fc.oneof(fc.record({ equals: value }), value) }))
    const text = fc.oneof(
      anyText,
      near.map((json) => JSON.stringify(json)),
    )
    fc.assert(
      fc.property(text, (written) => {
        const reading = readExamples(written)
        if (!reading.ok) expect(reading.problems.join()).toMatch(/^examples\.json: /)
      }),
    )
    expect(readExamples(`${'['.repeat(5_000)}${']'.repeat(5_000)}`).ok).toBe(false)
  })
})

describe('readRequirements', () => {
  it('CAP-4 reads lines without comments, each once', () => {
    expect(readRequirements('# all\nnumpy==2.0  # for sums\r\n\nrequests>=2\nnumpy==2.0\n')).toEqual([
      'numpy==2.0',
      'requests>=2',
    ])
  })
})
