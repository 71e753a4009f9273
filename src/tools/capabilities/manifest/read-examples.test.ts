import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { anyText } from '../../../../test/support/any-text.ts'
import type { Json } from '../../../protocol/json.ts'
import { readExamples } from './read-examples.ts'
import { readRequirements } from './read-requirements.ts'

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

  it('CAP-8 takes an input with characters that nobody sees: it may have failed in use', () => {
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
