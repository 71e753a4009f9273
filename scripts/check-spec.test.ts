import { describe, expect, it } from 'vitest'
import { checkSpec } from './check-spec.ts'

const spec = '# The loop\n\n- **LOOP-1** A turn ends.\n- LOOP-2 It is written down.\n\nSee LOOP-9.\n'

const findings = (test: string, text = spec): string[] =>
  checkSpec(new Map(Object.entries({ 'docs/spec/loop.md': text, 'src/agent/loop.test.ts': test }))).findings

describe('checkSpec', () => {
  it.each([
    ['it', `it('LOOP-1 a', f)\nit("LOOP-2: b", f)`],
    ['test and describe', 'test(`LOOP-1 a`, f)\ndescribe("LOOP-2 b", f)'],
    ['modifiers', `it.concurrent('LOOP-1 a', f)\nit.skipIf(x)('LOOP-2 b', f)`],
    ['tables', `it.each([\n  [1],\n])('LOOP-1 %s', f)\nit.each\`a\${1}\`('LOOP-2 b', f)`],
    ['two ids in one name', `it('LOOP-1, LOOP-2 both', f)`],
    ['a name on its own line', `it(\n  'LOOP-1 LOOP-2 both',\n  f)`],
  ])('takes a rule as tested by %s', (_name, test) => {
    expect(findings(test)).toEqual([])
  })

  it.each([
    ['nothing', ''],
    ['a mention elsewhere', `it('a turn ends, LOOP-2', f) // LOOP-2`],
    ['a test that never runs', ['todo', 'skip'].map((never) => `it.${never}('LOOP-2 b', f)`).join('\n')],
  ])('does not take a rule as tested by %s', (_name, test) => {
    expect(findings(`it('LOOP-1 a', f)\n${test}`)).toEqual(['docs/spec/loop.md: LOOP-2 has no test'])
  })

  it('finds a test of a rule that is not there, and a rule that is there twice', () => {
    const all = `it('LOOP-1 a', f)\nit('LOOP-2 b', f)\n`
    const unknown = 'src/agent/loop.test.ts: a test names LOOP-21, which docs/spec does not state'
    expect(findings(`${all}it('LOOP-21 c', f)`)).toEqual([unknown])
    expect(findings(`${all}it('UTF-8 survives', f)`)).toEqual([])
    expect(findings(all, `${spec}- LOOP-2 Again.\n`)).toEqual(['docs/spec/loop.md: LOOP-2 is stated twice'])
  })
})
