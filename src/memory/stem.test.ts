import { DatabaseSync } from 'node:sqlite'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { anyText } from '../../test/support/any-text.ts'
import { stem } from './words.ts'

/** The stem of each word by SQLite's own stemmer, which the full-text index uses. */
function stemsOfSqlite(words: readonly string[]): string[] {
  const database = new DatabaseSync(':memory:')
  database.exec(`create virtual table texts using fts5(text, tokenize = 'porter unicode61')`)
  database.exec('create virtual table terms using fts5vocab(texts, instance)')
  const insert = database.prepare('insert into texts (rowid, text) values (?, ?)')
  for (const [index, word] of words.entries()) insert.run(index, word)
  const rows = database.prepare('select term from terms order by doc').all()
  database.close()
  return rows.map((row) => String(row.term))
}

const ordinaryWords =
  `the of and painted painting paints allergies allergy shellfish swimming swam running runner runs easily
  happiness happy happily organization organizations organised organizing university universal children lives living
  lived memory memories remember remembered remembering decision decisions decide decided solution solutions solve solved
  position positions condition conditional conditions tradition traditional emotion emotional emotions addition additional
  collision conclusion confusion division edition explosion occasion occasional occasionally completion complete completely
  promotion promoted promote pollution polluted nutrition nutritious petition precision provision revision transition
  adoption action actions station nation national nationality international relation relations relationship education
  educated educational communicate communication vacation vacations reservation reserve booked booking books appointment
  appointments meeting meetings met dentist doctor doctors medicine medical medication medications prescription prescribe
  hospital hospitals surgery surgeries insurance insured employer employee employment employed unemployed salary salaries
  interview interviewed interviewing manager management manage managing colleague colleagues company companies business
  businesses project projects projected deadline deadlines deliver delivery delivered delivering package packages address
  addresses apartment apartments landlord neighbour neighbours neighborhood kitchen kitchens recipe recipes cooking cooked
  cooks baking baked bakery breakfast dinner dinners lunches vegetarian vegan peanut peanuts lactose intolerant intolerance
  birthday birthdays anniversary anniversaries wedding weddings married marriage divorced divorce engaged engagement
  pregnant pregnancy babies baby daughter daughters sister sisters brother brothers parents parent cousin cousins family
  families friend friends friendly friendship guitar guitars piano violin practise practising practiced lesson lessons
  teacher teachers teaching student students studied studies studying exam examination examined graduate graduated
  graduation degree degrees language languages speaking speaker translation translate translated flight flights flying
  flies flyer airport airports passport passports travel travelled traveling traveler journey journeys hotel hotels
  museum museums gallery galleries exhibition exhibited camping camped hiking hiked mountain mountains beach beaches
  weather rainy snowing sunny temperature hopping hoped hoping falling hissing fizzed failing filing sized agreed feed
  plastered bled motoring sing conflated troubled sky relational rational valency hesitancy digitizer conformably radically
  differently vilely analogously vietnamization predication operator feudalism decisiveness hopefulness callousness
  formality sensitivity sensibility triplicate formative formalize electricity electrical hopeful goodness revival
  allowance inference airliner gyroscopic adjustable defensible irritant replacement adjustment dependent homologous
  communism activate angularity effective bowdlerize probate rate cease controlling controlled roll ying yves yellow
  yesterday yearly years eyed dying dyed tying tied skies skied eying buoyancy playful enjoyed enjoyment`.split(/\s+/)

describe('stem', () => {
  it.each([
    ['caresses', 'caress'],
    ['ponies', 'poni'],
    ['ties', 'ti'],
    ['caress', 'caress'],
    ['cats', 'cat'],
    ['feed', 'feed'],
    ['agreed', 'agre'],
    ['plastered', 'plaster'],
    ['bled', 'bled'],
    ['motoring', 'motor'],
    ['sing', 'sing'],
    ['conflated', 'conflat'],
    ['troubled', 'troubl'],
    ['sized', 'size'],
    ['hopping', 'hop'],
    ['falling', 'fall'],
    ['filing', 'file'],
    ['happy', 'happi'],
    ['sky', 'sky'],
    ['relational', 'relat'],
    ['conditional', 'condit'],
    ['digitizer', 'digit'],
    ['hopefulness', 'hope'],
    ['electrical', 'electr'],
    ['adoption', 'adopt'],
    ['solution', 'solut'],
    ['decisions', 'decis'],
    ['replacement', 'replac'],
    ['probate', 'probat'],
    ['rate', 'rate'],
    ['cease', 'ceas'],
    ['controlling', 'control'],
    ['roll', 'roll'],
  ])('MEM-3 takes %s to %s', (word, stemmed) => {
    expect(stem(word)).toBe(stemmed)
  })

  it('MEM-3 agrees with the stemmer of the text index', () => {
    const words = [...new Set(ordinaryWords)]
    expect(words.length).toBeGreaterThan(300)
    expect(words.map((word) => `${word} ${stem(word)}`)).toEqual(
      stemsOfSqlite(words).map((stemmed, index) => `${words[index]} ${stemmed}`),
    )
  })

  it('MEM-3 agrees with it on random words', () => {
    const endings = `s es ies sses ed eed ing y ly ation ational ization izer ment ement ness fulness ion tion sion ive
      iveness able ible ance ence al ical er ic ous ousness ism ate icate iti iciti ize alize ll e`.split(/\s+/)
    const made = fc
      .tuple(fc.string({ unit: fc.constantFrom(...'aeiouybcdlmnstwxz'), maxLength: 8 }), fc.constantFrom(...endings))
      .map((parts) => parts.join(''))
    fc.assert(
      fc.property(fc.uniqueArray(made, { minLength: 40, maxLength: 60 }), (words) => {
        expect(words.map(stem)).toEqual(stemsOfSqlite(words))
      }),
      { numRuns: 20 },
    )
  })

  it('MEM-3 leaves words of other languages unchanged', () => {
    for (const word of ['', 'is', 'Painting', 'Größe', '虾虾虾', 'ab12s', '🙂🙂🙂', 's'.repeat(41)])
      expect(stem(word)).toBe(word)
  })

  it('MEM-3 accepts any text, with the same result again', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(stem(text)).toBe(stem(text))
        expect(stem(text).length).toBeLessThanOrEqual(text.length)
      }),
    )
    expect(stem('ed'.repeat(50_000))).toHaveLength(100_000)
  })

  it('MEM-3 gives the same result beyond its cache size', () => {
    const letters = [...'abcdefghijklmnopqrstuvwxyz']
    const many = letters.flatMap((a) =>
      letters.flatMap((b) => letters.flatMap((c) => [`${a}${b}${c}ing`, `${a}${b}${c}ations`])),
    )
    const before = many.map(stem)
    expect(many.map(stem)).toEqual(before)
    expect(stem('painting')).toBe('paint')
  })
})
