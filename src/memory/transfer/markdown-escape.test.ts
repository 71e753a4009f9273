import fc from 'fast-check'
import { expect, it } from 'vitest'
import {
  escapeLine,
  escapeLineStart,
  escapeValue,
  idFromText,
  idText,
  unescapeLine,
  unescapeValue,
} from './markdown.ts'

const signs = fc.string({ unit: fc.constantFrom(...'\\#^ -*+>=~|`_<!/1.)(&;\ra3\t[]%n') })
const anyLine = fc.oneof(signs, fc.string({ unit: 'binary' })).map((text) => text.replaceAll('\n', ' '))

it('MEM-14 restores any line exactly', () => {
  fc.assert(
    fc.property(anyLine, (line) => {
      for (const escaped of [escapeLine, escapeLineStart]) {
        expect(unescapeLine(escaped(line))).toBe(line)
        expect(escaped(line)).not.toMatch(/(?:^|\s)[#^]|[\n\r]/)
      }
      expect(escapeLineStart(line)).not.toMatch(/^\s*(?:[-*+>=~|`_]|\d{1,9}[.)])/)
      expect(unescapeValue(escapeValue(line))).toBe(line)
    }),
    { numRuns: 2_000 },
  )
})

it('MEM-14 leaves ordinary text unchanged', () => {
  for (const line of ['C:\\Users\\max', 'a * b, 5 < 6 & 7', 'https://example.org/a#b', 'x^2', '12.5 km']) {
    expect(escapeLine(line)).toBe(line)
  }
})

it('MEM-14 restores any id, as one word', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', minLength: 1 }), (id) => {
      expect(idText(id)).toMatch(/^\S+$/)
      expect(idFromText(idText(id).slice(1))).toBe(id)
    }),
  )
  expect(idFromText('%zz')).toBe('%zz')
})
