import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { anyText } from '../../test/support/any-text.ts'
import { readYaml, type YamlValue } from './yaml.ts'

const valueIn = async (text: string) => {
  const reading = await readYaml(text)
  return reading.ok ? reading.value : reading
}

describe('readYaml', () => {
  it.each<[string, string, YamlValue]>([
    [
      'plain, quoted and empty',
      `a: one # two\nb: "x: \\"y\\" \\u00e9"\nc: 'it''s'\nd:`,
      { a: 'one', b: 'x: "y" é', c: "it's", d: '' },
    ],
    ['folded', 'a: >-\n  one\n  two\n\n  three\n    kept\n  end\nb: c', { a: 'one two\nthree\n  kept\nend', b: 'c' }],
    ['folded with its end', 'a: >\n  one\n  two\n', { a: 'one two\n' }],
    ['literal', 'a: |\n  one\n    two\n\n  # three\nb: |-\n  x\n', { a: 'one\n  two\n\n# three\n', b: 'x' }],
    ['literal, kept and indented', 'a: |+\n  x\n\nb: |2-\n    y\n', { a: 'x\n\n', b: '  y' }],
    [
      'plain and quoted over lines',
      `a: one\n  two\n\n  three\nb: "x\n  y \\\n  z"`,
      { a: 'one two\nthree', b: 'x y z' },
    ],
    [
      'lists',
      'a:\n- x\n- y: 1\n  z: 2\n- - p\n  - q\n-\n  r: s\nb: [1, "2", three,]',
      { a: ['x', { y: '1', z: '2' }, ['p', 'q'], { r: 's' }], b: ['1', '2', 'three'] },
    ],
    [
      'flow over lines',
      'a: {\n  b: c, # note\n  "d": [e,\n    f]\n}\ng: {"h":{"i":[]}}',
      { a: { b: 'c', d: ['e', 'f'] }, g: { h: { i: [] } } },
    ],
    ['nested maps', 'a:\n  b:\n    c: d\n  # e\n  f: g\n', { a: { b: { c: 'd' }, f: 'g' } }],
    [
      'what can only mean one thing',
      'a: Use it so: like this\nb: "x" and y\nc: [beta] thing\nd: C:\\Users\ne: "C:\\Users"\nf: When: x\n  or: y # z\ng ü: h: i\nj: > 5',
      {
        a: 'Use it so: like this',
        b: '"x" and y',
        c: '[beta] thing',
        d: 'C:\\Users',
        e: 'C:\\Users',
        f: 'When: x or: y',
        'g ü': 'h: i',
        j: '> 5',
      },
    ],
    ['nothing', '\n# nothing\n', {}],
  ])('reads %s', async (_name, text, value) => {
    expect(await valueIn(text)).toEqual(value)
  })

  it.each([
    ['an anchor', 'a: &x 1\nb: 2', 1],
    ['an alias', 'a: 1\nb: *x', 2],
    ['a tag', 'a: !!js/function "f()"', 1],
    ['a directive', '%TAG ! tag:example.com,2026:\na: 1', 1],
    ['a key that is a list', 'a: 1\n? [b]\n: c', 2],
    ['a key twice', 'a: 1\na: 2', 2],
    ['a tab', 'a:\n\tb: c', 2],
    ['a quote without end', 'a: "b\nc: d', 1],
    ['brackets without end', 'a: {b: c\nd: e', 2],
    ['what belongs nowhere', 'a: |\n  b\n c: d', 3],
    ['what is nested too deeply', `a: 1\nb: ${'['.repeat(40)}${']'.repeat(40)}`, 2],
  ])('refuses %s and says where', async (_name, text, line) => {
    expect(await readYaml(text)).toMatchObject({ ok: false, line })
  })

  it('keeps a key that objects have by themselves as one of theirs', async () => {
    const value = await valueIn('__proto__: x\nconstructor: y')
    expect(Object.entries(value)).toEqual([
      ['__proto__', 'x'],
      ['constructor', 'y'],
    ])
  })

  it('never throws, whatever the input', async () => {
    const yamlish = fc.string({ unit: fc.constantFrom(...'ab:- \n\t"\'[]{},|>#&*!\\u0') })
    await fc.assert(
      fc.asyncProperty(fc.oneof(anyText, yamlish), async (text) => {
        const reading = await readYaml(text)
        expect(reading.ok || reading.line >= 1).toBe(true)
      }),
      { numRuns: 2_000 },
    )
  })

  it('reads JSON as what it is, on its own and as the value of a key', async () => {
    const { value } = fc.letrec<{ value: YamlValue }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 4 },
        fc.string({ unit: 'grapheme' }),
        fc.array(tie('value'), { maxLength: 4 }),
        fc.dictionary(fc.string({ unit: 'grapheme' }), tie('value'), { maxKeys: 4 }),
      ),
    }))
    await fc.assert(
      fc.asyncProperty(value, fc.boolean(), async (written, isIndented) => {
        const json = JSON.stringify(written, null, isIndented ? 2 : undefined)
        expect(await valueIn(`a: ${json.replaceAll('\n', '\n  ')}\nb: c`)).toEqual({ a: written, b: 'c' })
      }),
    )
  })

  it('reads literal text back as it was written', async () => {
    const line = fc.stringMatching(/^[!-~]([ -~]{0,20}[!-~])?$/)
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.oneof(line, fc.constant('')), { minLength: 1, maxLength: 6 }),
        line,
        async (lines, last) => {
          const text = ['x', ...lines, last].join('\n')
          const block = text.replaceAll(/^(?=.)/gm, '    ')
          expect(await valueIn(`a:\n  b: |-\n${block}\n  c: d`)).toEqual({ a: { b: text, c: 'd' } })
        },
      ),
    )
  })

  it('stays quick and whole on long hostile text', async () => {
    const long = 60_000
    const texts = [
      `a: "${' '.repeat(long)}`,
      ' '.repeat(long),
      `a${' '.repeat(long)}b`,
      `a: ${'['.repeat(long)}`,
      '- '.repeat(long / 2),
      '? '.repeat(long / 2),
      '{a: '.repeat(long / 4),
      '%a\n'.repeat(long / 3),
      'a: b: c\n'.repeat(long / 8),
      Array.from({ length: long / 8 }, (_, index) => `k${index}: 1`).join('\n'),
      `a: &a [x, x]\n${Array.from({ length: 2_000 }, (_, index) => `b${index}: [*a, *a]`).join('\n')}`,
    ]
    for (const text of texts) expect(typeof (await readYaml(text)).ok).toBe('boolean')
  })
})
