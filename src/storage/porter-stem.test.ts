import { DatabaseSync } from 'node:sqlite'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { porterStem } from './words.ts'

const endings = `s es ies sses ed eed ing at bl iz y ational tional enci anci izer logi bli alli entli eli ousli ization
  ation ator alism iveness fulness ousness aliti iviti biliti icate ative alize iciti ical ful ness al ance ence er ic
  able ible ant ement ment ent ion ou ism ate iti ous ive ize e ll sion tion`.split(/\s+/)

test('SCALE-1 stems are identical to those of SQLite', () => {
  const stemOf = openSqliteStemmer()
  const letters = fc.string({ unit: fc.constantFrom(...'abcdefgilmnorstuvwxyzé7ß'), minLength: 1, maxLength: 8 })
  const word = fc
    .tuple(letters, fc.array(fc.constantFrom(...endings), { maxLength: 3 }))
    .map(([start, ends]) => start + ends.join(''))
  fc.assert(
    fc.property(fc.array(word, { minLength: 50, maxLength: 50 }), (words) => {
      expect(words.map(porterStem)).toEqual(stemOf(words))
    }),
    { numRuns: 200 },
  )
})

test('STORE-5 stems well-known words', () => {
  expect(['allergies', 'allergic', 'relational', 'hopping', 'skies', 'generalizations', 'be'].map(porterStem)).toEqual([
    'allergi',
    'allerg',
    'relat',
    'hop',
    'ski',
    'gener',
    'be',
  ])
})

function openSqliteStemmer(): (words: readonly string[]) => string[] {
  const raw = new DatabaseSync(':memory:')
  raw.exec(`
    create virtual table words using fts5(text, tokenize = "porter unicode61 remove_diacritics 0");
    create virtual table stems using fts5vocab(words, instance);`)
  const insert = raw.prepare('insert into words (rowid, text) values (?, ?)')
  const select = raw.prepare('select doc, term from stems order by doc')
  return (words) => {
    raw.exec('delete from words')
    for (const [index, word] of words.entries()) insert.run(index + 1, word)
    return select.all().map((row) => String(row.term))
  }
}
