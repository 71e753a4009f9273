import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { checkWords } from './check-words.ts'
import { proseOf } from './prose-of.ts'
import { readSourceFiles } from './source-files.ts'

const root = join(import.meta.dirname, '..')

/** A hole of a template, written so that no linter takes it for a mistake. */
const hole = (name: string): string => ['$', '{', name, '}'].join('')

const findings = (path: string, text: string): string[] => checkWords(new Map([[path, text]]), []).findings

describe('checkWords', () => {
  it.each([
    ['a comment', '/** It is closed by whoever opens it. */\nopen()'],
    ['a line comment', '// It is made anew.\nmake()'],
    ['a trailing comment', 'make() // It is told as failed.'],
    ['a statement like a question', '/** What can be answered now, oldest first. */\npending()'],
    ['a second sentence like a question', '/** Reads the file. Where there is none, undefined. */\nread()'],
    ['an error', "throw new Error('The key is made anew at the next start')"],
    ['a template', `\`The owner ${hole('name')} is told that it failed\``],
    ['British spelling', '/** The colour of the card. */\ncolor()'],
    ['a limit with an old name', 'const mostBytes = 5'],
    ['an old verb', '/** Continues a turn that was begun before. */\nresume()'],
    ['a vague subject', '/** Closed when somebody stops it. */\nclose()'],
  ])('finds %s', (_, text) => {
    expect(findings('src/base/a.ts', text)).toHaveLength(1)
  })

  it.each([
    ['a question', '/** What is it for? */'],
    ['code in a comment', '/** Calls `whoever` with "for ever". */'],
    ['words that only look alike', '// A recommendation amends the commended tierless capital.'],
    ['a key', "const key = 'nobody'"],
    ['a list of words', "const words = 'what whoever nobody told'"],
    ['a regular expression', 'const pattern = /nobody|told by/'],
    ['SQL', "sql`select told from nobody where what = 'whoever'`"],
    ['the parts of a longer word', '/** The retold story of a mended… */'.replace('mended…', 'sample')],
  ])('accepts %s', (_, text) => {
    expect(findings('src/base/a.ts', text)).toEqual([])
  })

  it('checks names of tests and leaves their data alone', () => {
    const name = (text: string) => findings('src/base/a.test.ts', `it('${text}', () => {})`)
    expect(name('MEM-1 SEC-2 what is stored is found')).toHaveLength(1)
    expect(name('MEM-1 finds what was stored')).toEqual([])
    expect(findings('src/base/a.test.ts', "say('Nobody told me whoever it was anew')")).toEqual([])
    expect(findings('src/base/a.test.ts', "it.each([['Nobody knows it']])('where it is: %s', () => {})")).toHaveLength(
      1,
    )
  })

  it('checks documents outside of their code', () => {
    expect(findings('docs/a.md', '# Start\n\nIt mends itself.\n\n- Where it runs, it waits.\n')).toEqual([
      expect.stringMatching(/^docs\/a\.md:3: "mends"/),
      expect.stringMatching(/^docs\/a\.md:5: rewrite/),
    ])
    expect(findings('docs/a.md', '**What does it cost?** Nothing.\n\n### tiers\n')).toEqual([])
    expect(findings('docs/a.md', 'Run `mend`:\n\n```sh\nmend --for ever\n```\n')).toEqual([])
  })

  it('skips unconverted places, and names clean ones', () => {
    const files = new Map([
      ['src/old/a.ts', '// made anew'],
      ['src/new/a.ts', '// made again'],
    ])
    expect(checkWords(files, ['src/old/', 'src/new/'])).toEqual({
      findings: [],
      note: '1 places to convert; clean, so remove from the list: src/new/',
    })
  })

  it('finds nothing in the folders that are converted', () => {
    const files = readSourceFiles(root, [
      '{src,scripts,test,bench}/**/*.ts',
      'web/src/**/*.{ts,tsx}',
      '{.,docs/**}/*.md',
    ])
    expect(checkWords(files).findings).toEqual([])
    expect(files.size).toBeGreaterThan(500)
  })
})

describe('proseOf', () => {
  it('joins the lines of a comment, and knows strings, templates and expressions', () => {
    const source = [
      '// one',
      '// two',
      "const a = 'it\\'s' // three",
      `const b = /[/"]/.test(c) ? \`d ${hole('e(`f`)')} g\` : 4 / 2`,
      '/**',
      ' * four',
      ' * five',
      ' */',
    ].join('\n')
    expect(proseOf(source).map(({ kind, text }) => [kind, text])).toEqual([
      ['comment', 'one\ntwo'],
      ['string', "it\\'s"],
      ['comment', 'three'],
      ['string', `d ${hole('e(`f`)')} g`],
      ['comment', 'four\nfive'],
    ])
  })

  it('knows the names of tests', () => {
    const source =
      "describe('a', () => { it.each([['x']])('b %s', f); it.skipIf(c)('d', f); it.each<[string]>(t)(\n'e', f) })"
    const names = proseOf(source).filter(({ kind }) => kind === 'test name')
    expect(names.map(({ text }) => text)).toEqual(['a', 'b %s', 'd', 'e'])
  })
})
