import { DatabaseSync } from 'node:sqlite'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { spaceOut, toTokens } from './words.ts'

test("SCALE-1 the words of a text equal those of SQLite's index", () => {
  const tokensOf = openSqliteTokenizer()
  const latin = fc.string({
    unit: fc.constantFrom(...'abcdefghijklmnopqrstuvwxyzÄÖÜßéèêÇñŁłøİıΣςδЖй 0123456789.,-_\'"\n'),
  })
  const marks = fc.string({ unit: fc.constantFrom('a', 'e', '\u0301', '\u0308', 'हि', 'न्', 'दी', ' ') })
  const unspaced = fc.string({ unit: fc.constantFrom(...'東京で寿司をข้าวผัด서울 a1,') })
  const text = fc.array(fc.oneof(latin, marks, unspaced), { maxLength: 8 }).map((parts) => parts.join(' '))
  fc.assert(
    fc.property(text, (words) => {
      expect(toTokens(words).tokens).toEqual(tokensOf(words))
    }),
    { numRuns: 1000 },
  )
})

test('STORE-5 ignores accents, case and punctuation', () => {
  expect(toTokens('Café CAFE\u0301 cafés, naïve_ΣΊΣΥΦΟΣ!').tokens).toEqual(['cafe', 'cafe', 'cafe', 'naiv', 'σίσυφοσ'])
})

test('STORE-5 letters of unspaced scripts are pieces, and so are parts of words split by marks', () => {
  expect(toTokens('東京 Kiel 虾').isPiece).toEqual([true, true, false, true])
  expect(toTokens('हिन्दी').isPiece).toEqual([true, true, true])
})

function openSqliteTokenizer(): (text: string) => string[] {
  const raw = new DatabaseSync(':memory:')
  raw.exec(`
    create virtual table words using fts5(text, tokenize = "porter unicode61 remove_diacritics 2");
    create virtual table tokens using fts5vocab(words, instance);`)
  const insert = raw.prepare('insert into words (text) values (?)')
  const select = raw.prepare('select term from tokens order by offset')
  return (text) => {
    raw.exec('delete from words')
    insert.run(spaceOut(text))
    return select.all().map((row) => String(row.term))
  }
}
