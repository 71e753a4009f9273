import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { displayWidth, fitWidth, toDisplayText } from '../base/text.ts'
import { createOutput, hasColours } from './output.ts'

function setUp(options: { isTTY?: boolean; columns?: number; env?: Record<string, string> } = {}) {
  const written = { stdout: '', stderr: '' }
  const stream = (name: 'stdout' | 'stderr') => ({
    write: (text: string) => {
      written[name] += text
    },
    isTTY: options.isTTY,
    columns: options.columns,
  })
  const output = createOutput({ stdout: stream('stdout'), stderr: stream('stderr'), env: options.env ?? {} })
  return { output, written }
}

describe('output', () => {
  it('CLI-1 uses colors on a terminal only, and follows NO_COLOR and FORCE_COLOR', () => {
    const terminal = { write: () => {}, isTTY: true }
    const pipe = { write: () => {} }
    expect(hasColours(terminal, {})).toBe(true)
    expect(hasColours(terminal, { TERM: 'dumb' })).toBe(false)
    expect(hasColours(terminal, { NO_COLOR: '1', FORCE_COLOR: '1' })).toBe(false)
    expect(hasColours(terminal, { NO_COLOR: '' })).toBe(true)
    expect(hasColours(pipe, {})).toBe(false)
    expect(hasColours(pipe, { FORCE_COLOR: '1' })).toBe(true)
    expect(hasColours(terminal, { FORCE_COLOR: '0' })).toBe(false)
    const { output, written } = setUp({ isTTY: true })
    output.print(`a ${output.style('red', 'b')}`)
    expect(written.stdout).toBe('a \u001b[31mb\u001b[39m\n')
  })

  it('SEC-10 prints no escape sequence, control or bidi character that came with the text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const { output, written } = setUp({ isTTY: true, columns: 40, env: { NO_COLOR: '1' } })
        const hostile = `\u001b]0;x\u0007${text}\u009b2J\u202e`
        output.print(hostile + output.style('red', hostile))
        output.printTable([[hostile, output.style('bold', hostile)]], { header: [hostile] })
        output.printJson({ [hostile]: hostile })
        output.fail(hostile, hostile, 1)
        for (const printed of Object.values(written)) expect(toDisplayText(printed)).toBe(printed)
      }),
    )
  })

  it('SEC-10 takes no style from text, not even one that another output made', () => {
    const { output, written } = setUp({ isTTY: true })
    const foreign = setUp({ isTTY: true }).output.style('red', 'text')
    output.print(`\u001b[31m${foreign}`)
    expect(written.stdout).not.toContain('\u001b')
  })

  it('CLI-1 prints JSON that a program reads back unchanged', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.string({ unit: 'binary' }), fc.boolean(), (value, text, isTTY) => {
        const { output, written } = setUp({ isTTY })
        output.printJson({ value, text })
        expect(JSON.parse(written.stdout)).toEqual(JSON.parse(JSON.stringify({ value, text })))
        if (!isTTY) expect(written.stdout.trimEnd()).not.toContain('\n')
      }),
    )
  })

  it('CLI-1 lines up the columns of a table and keeps to the terminal', () => {
    const rows = [
      ['main', '3', 'hello\nthere'],
      ['日本', '12', 'x'.repeat(40)],
    ]
    const { output, written } = setUp()
    output.printTable(rows, { header: ['Session', 'Turns', 'Last'] })
    expect(written.stdout).toBe(
      ['Session  Turns  Last', 'main     3      hello there', `日本     12     ${'x'.repeat(40)}`, ''].join('\n'),
    )
    const narrow = setUp({ isTTY: true, columns: 30, env: { NO_COLOR: '1' } })
    narrow.output.printTable(rows)
    for (const line of narrow.written.stdout.trimEnd().split('\n')) expect(displayWidth(line)).toBeLessThanOrEqual(30)
    const empty = setUp()
    empty.output.printTable([])
    expect(empty.written.stdout).toBe('')
  })

  it('CLI-1 measures and cuts text by what a terminal shows', () => {
    expect(['abc', '日本', 'e\u0301', '👩‍👩‍👧', '❤️'].map(displayWidth)).toEqual([3, 4, 1, 2, 2])
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.integer({ min: 1, max: 20 }), (text, columns) => {
        expect(displayWidth(fitWidth(toDisplayText(text), columns))).toBeLessThanOrEqual(columns)
      }),
    )
  })

  it('CLI-1 says what went wrong and what to do on standard error, and answers the exit code', () => {
    const { output, written } = setUp()
    expect(output.fail('No such session.', 'familiar sessions lists them', 2)).toBe(2)
    expect(written).toEqual({ stdout: '', stderr: 'Error: No such session.\nfamiliar sessions lists them\n' })
  })
})
