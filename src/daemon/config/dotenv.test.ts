import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseDotenv, setDotenvValue } from './environment.ts'

const name = fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_]{0,12}$/)
const value = fc.string({ unit: 'binary', maxLength: 40 }).map((text) => text.toWellFormed().replaceAll('\u0000', ''))

describe('dotenv', () => {
  it('CONF-1 reads bare, quoted, exported and commented lines', () => {
    const text = `# a comment
A=one
  export B = two words # said
C='as $it \\n stands' # yes
D="line\\nnext \\"quoted\\" \\\\ \\x"
E=
F=with#hash
G= # nothing
`
    const { entries, problems } = parseDotenv(text)
    expect(problems).toEqual([])
    expect(entries).toEqual([
      { name: 'A', value: 'one', line: 2 },
      { name: 'B', value: 'two words', line: 3 },
      { name: 'C', value: 'as $it \\n stands', line: 4 },
      { name: 'D', value: 'line\nnext "quoted" \\ \\x', line: 5 },
      { name: 'E', value: '', line: 6 },
      { name: 'F', value: 'with#hash', line: 7 },
      { name: 'G', value: '', line: 8 },
    ])
  })

  it('CONF-2 names the line of what it cannot read and never repeats its text', () => {
    const { entries, problems } = parseDotenv("A=1\nsk-live-secret\nB=\"open\nC='x' y\nD=4\r\n")
    expect(problems.map((problem) => problem.line)).toEqual([2, 3, 4])
    expect(JSON.stringify(problems)).not.toContain('secret')
    expect(entries.map((entry) => entry.name)).toEqual(['A', 'D'])
  })

  it('CONF-1 restores any value that was set, and keeps every other line', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(name, value)), name, value, (known, added, text) => {
        const before = known.reduce((document, [key, word]) => setDotenvValue(document, key, word), '# kept\n')
        const after = setDotenvValue(before, added, text)
        const expected = new Map([...known, [added, text] as const])
        const { entries, problems } = parseDotenv(after)
        expect(problems).toEqual([])
        expect(new Map(entries.map((entry) => [entry.name, entry.value]))).toEqual(expected)
        expect(after.startsWith('# kept\n')).toBe(true)
      }),
      { numRuns: 500 },
    )
  })

  it('CONF-2 accepts any text without throwing', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => void parseDotenv(text)),
      { numRuns: 500 },
    )
  })
})
