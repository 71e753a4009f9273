import fc from 'fast-check'
import { expect, it } from 'vitest'
import { lexMarkdown, numberFootnotes, splitMarkdown } from './markdown-source.ts'

const paragraph = fc.oneof(
  fc.string({ maxLength: 50 }),
  fc.constantFrom('_a '.repeat(4_000), 'x'.repeat(8_001), '- one', '> said', '```\ncode', '```', 'words '.repeat(200)),
  // Made to look like long lists and tables.
  fc.constantFrom(
    '- an item\n'.repeat(1_000),
    `- one\n${'_a '.repeat(4_000)}`,
    `| a |\n|---|\n${'| b |\n'.repeat(2_000)}`,
    `| a |\n|---|\n${'| b |\n'.repeat(1_500)}${'_a '.repeat(4_000)}`,
    `| a |\n|---|\n| ${'_a '.repeat(4_000)} |`,
    `|a|\n|-|-|\n${'|_a _a\n'.repeat(2_000)}`,
  ),
)
const anyMarkdown = fc.array(paragraph, { maxLength: 20 }).map((paragraphs) => paragraphs.join('\n\n'))

/** The longest text that is parsed together: of a table, a line. */
function longestRun(piece: string): number {
  const isTable = piece.length > 8_000 && piece.startsWith('|')
  const tokens = lexMarkdown(isTable ? piece.split('\n').slice(0, 3).join('\n').slice(0, 8_000) : '')
  const runs = tokens[0]?.type === 'table' ? piece.split(/\n(?=\|)/) : [piece]
  return Math.max(...runs.map((run) => run.trimEnd().length))
}

it('SEC-18 loses nothing, and parses no paragraph that is longer than the limit', () => {
  fc.assert(
    fc.property(anyMarkdown, (text) => {
      const parts = splitMarkdown(text)
      expect(parts.map((part) => part.text).join('')).toBe(text)
      for (const part of parts.filter(({ isPlain, text: parsed }) => !isPlain && !parsed.includes('```'))) {
        for (const piece of part.text.split(/\n\n(?=\S)/)) expect(longestRun(piece)).toBeLessThanOrEqual(8_000)
      }
    }),
  )
})

it('PAGE-5 while a text grows, all parts but the last one stay as they are', () => {
  fc.assert(
    fc.property(anyMarkdown, fc.nat(), (text, cut) => {
      const whole = splitMarkdown(text)
      const begun = splitMarkdown(text.slice(0, cut % (text.length + 1)))
      for (const [index, part] of begun.slice(0, -1).entries()) {
        expect(whole[index]?.text.startsWith(part.text)).toBe(true)
      }
    }),
  )
})

it('cuts no code in two, and no list', () => {
  const code = `Before\n\n\`\`\`\n${'line\n\n'.repeat(1_000)}\`\`\`\n\nAfter`
  expect(splitMarkdown(code).some(({ text }) => text.includes('```\nline') && text.includes('line\n\n```'))).toBe(true)
  const list = `${'words '.repeat(400)}\n\n- one\n\n- two`
  expect(splitMarkdown(list)).toHaveLength(1)
})

it('PAGE-3b a long list and a long table stay a list and a table', () => {
  const types = (text: string) =>
    splitMarkdown(text).flatMap((part) => (part.isPlain ? ['plain'] : lexMarkdown(part.text).map(({ type }) => type)))
  expect(new Set(types('1. an item with words\n'.repeat(1_000)))).toEqual(new Set(['list']))
  expect(types(`| a | b |\n|---|:-:|\n${'| one | two |\n'.repeat(2_000)}`)).toEqual(['table'])
})

it('PAGE-3b footnotes are numbered in the order of their marks, where there is a text', () => {
  const text = 'One[^b], two[^a], three[^b], none[^x].\n\n[^a]: First\n[^b]: Second\n  goes on\n[^c]: Unused'
  expect([...numberFootnotes(text)]).toEqual([
    ['b', 1],
    ['a', 2],
  ])
  expect(lexMarkdown(text).flatMap((token) => (token.type === 'footnote_text' ? [token.raw] : []))).toEqual([
    '[^a]: First\n',
    '[^b]: Second\n  goes on\n',
    '[^c]: Unused',
  ])
  expect(numberFootnotes('arr[^1] in `x[^1]`, and [^]: none').size).toBe(0)
  expect([...numberFootnotes('As follows[^1]:\n\n[^1]: By Ada').keys()]).toEqual(['1'])
})

it('PAGE-3b any text with footnotes is read to its end, and loses nothing', () => {
  const piece = fc.constantFrom(
    '[^a]',
    '[^a]:',
    '[^',
    ']:',
    '[^b]: ',
    '\n',
    '\n\n',
    '  x',
    '    y',
    '\t',
    'word ',
    '- ',
    '`',
    '> ',
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
      const text = pieces.join('')
      for (const [label, number] of numberFootnotes(text)) {
        expect(text).toContain(`[^${label}]`)
        expect(number).toBeGreaterThan(0)
      }
      // The lexer turns tabs of some places into spaces.
      const words = (one: string) => one.replaceAll(/\s+/g, '')
      const raw = lexMarkdown(text).map((token) => token.raw)
      expect(words(raw.join(''))).toBe(words(text))
    }),
  )
})
