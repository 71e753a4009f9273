import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { anyText } from '../../../test/support/any-text.ts'
import { readYaml } from './read-yaml.ts'
import type { YamlValue } from './yaml-value.ts'

const valueIn = (text: string) => {
  const reading = readYaml(text)
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
      'a: Use it so: like this\nb: "x" and y\nc: [beta] thing\nd: C:\\Users',
      { a: 'Use it so: like this', b: '"x" and y', c: '[beta] thing', d: 'C:\\Users' },
    ],
    ['nothing', '\n# nothing\n', {}],
  ])('reads %s', (_name, text, value) => {
    expect(valueIn(text)).toEqual(value)
  })

  it.each([
    ['an anchor', 'a: &x 1\nb: 2', 1],
    ['an alias', 'a: 1\nb: *x', 2],
    ['a tag', 'a: !!js/function "f()"', 1],
    ['a key twice', 'a: 1\na: 2', 2],
    ['a tab', 'a:\n\tb: c', 2],
    ['a quote without end', 'a: "b\nc: d', 1],
    ['brackets without end', 'a: {b: c\nd: e', 1],
    ['what belongs nowhere', 'a: |\n  b\n c: d', 3],
    ['what is nested too deeply', `a: 1\nb: ${'['.repeat(40)}${']'.repeat(40)}`, 2],
  ])('refuses %s and says where', (_name, text, line) => {
    expect(readYaml(text)).toMatchObject({ ok: false, line })
  })

  it('keeps a key that objects have by themselves as one of theirs', () => {
    const value = valueIn('__proto__: x\nconstructor: y')
    expect(Object.entries(value)).toEqual([
      ['__proto__', 'x'],
      ['constructor', 'y'],
    ])
  })

  it('never throws, whatever stands there', () => {
    const yamlish = fc.string({ unit: fc.constantFrom(...'ab:- \n\t"\'[]{},|>#&*!\\u0') })
    fc.assert(
      fc.property(fc.oneof(anyText, yamlish), (text) => {
        const reading = readYaml(text)
        expect(reading.ok || reading.line >= 1).toBe(true)
      }),
      { numRuns: 2_000 },
    )
  })

  it('reads JSON as what it is, on its own and as the value of a key', () => {
    const { value } = fc.letrec<{ value: YamlValue }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 4 },
        fc.string({ unit: 'grapheme' }),
        fc.array(tie('value'), { maxLength: 4 }),
        fc.dictionary(fc.string({ unit: 'grapheme' }), tie('value'), { maxKeys: 4 }),
      ),
    }))
    fc.assert(
      fc.property(value, fc.boolean(), (written, isIndented) => {
        const json = JSON.stringify(written, null, isIndented ? 2 : undefined)
        expect(valueIn(`a: ${json.replaceAll('\n', '\n  ')}\nb: c`)).toEqual({ a: written, b: 'c' })
      }),
    )
  })

  it('reads literal text back as it was written', () => {
    const line = fc.stringMatching(/^[!-~]([ -~]{0,20}[!-~])?$/)
    fc.assert(
      fc.property(fc.array(fc.oneof(line, fc.constant('')), { minLength: 1, maxLength: 6 }), line, (lines, last) => {
        const text = ['x', ...lines, last].join('\n')
        const block = text.replaceAll(/^(?=.)/gm, '    ')
        expect(valueIn(`a:\n  b: |-\n${block}\n  c: d`)).toEqual({ a: { b: text, c: 'd' } })
      }),
    )
  })

  it('takes long hostile lines in their stride', () => {
    const long = 60_000
    for (const text of [`a: "${' '.repeat(long)}`, ' '.repeat(long), `a${' '.repeat(long)}b`, `a: ${'['.repeat(long)}`])
      expect(typeof readYaml(text).ok).toBe('boolean')
  })
})
