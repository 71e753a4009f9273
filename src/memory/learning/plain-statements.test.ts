import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readPlainStatements } from './plain-statements.ts'

// A Sunday.
const at = Date.UTC(2026, 10, 15, 9)
const read = (text: string) => readPlainStatements(text, at, 'UTC')

describe('readPlainStatements', () => {
  it.each<[string, ...string[]]>([
    ["My sister Anna's birthday is 3 May", 'Anna/birthday/3 May', 'user/sister/Anna'],
    ['My sister’s birthday is on May 3rd.', 'sister/birthday/May 3rd'],
    ['Bea is a marine biologist', 'Bea/occupation/marine biologist'],
    ['My friend Carl Smith is a nurse who lives in Rome.', 'Carl Smith/occupation/nurse', 'user/friend/Carl Smith'],
    [
      'Bea, Max and Tom are marine biologists.',
      'Bea/occupation/marine biologist',
      'Max/occupation/marine biologist',
      'Tom/occupation/marine biologist',
    ],
    ['Remember that my dog is called Rex.', 'user/dog/Rex'],
    ['I have two cats called Tom and Jerry', 'user/cat/Tom', 'user/cat/Jerry'],
    ['Anna is my sister', 'user/sister/Anna'],
    ['Tom is Anna’s husband', 'Anna/husband/Tom'],
    ["I'm allergic to peanuts and shellfish!", 'user/allergic to/peanuts', 'user/allergic to/shellfish'],
    ["I'm vegan", 'user/is/vegan'],
    ['By the way, my favourite colour is blue, and my name is Max.', 'user/favourite colour/blue', 'user/name/Max'],
    ['I don’t like olives', 'user/dislikes/olives'],
    ['Anna can’t stand coffee', 'Anna/dislikes/coffee'],
    ['I really love hiking and old maps', 'user/likes/hiking', 'user/likes/old maps'],
    ['I live in Rome but work in Milan', 'user/lives in/Rome'],
    ['We had lunch. I moved to Berlin last year', 'user/lives in/Berlin'],
    ['My wife works as a teacher at the school', 'wife/occupation/teacher'],
    ['I work at Acme', 'user/works at/Acme'],
    ['Tom is 12 years old', 'Tom/age/12'],
    ['I was born on 3 May 1980', 'user/birthday/3 May 1980'],
    ['Anna speaks German and Italian', 'Anna/speaks/German', 'Anna/speaks/Italian'],
    ['Zoë is married to José María', 'Zoë/married to/José María'],
  ])('MEM-8 reads the facts of: %s', (text, ...expected) => {
    const { facts } = read(text)
    expect(facts.map(({ entity, attribute, value }) => `${entity}/${attribute}/${value}`)).toEqual(expected)
    for (const fact of facts) expect(fact.confidence).toBe(0.7)
  })

  it.each([
    ['I owe Tom 20 euros', 'user', 'Tom', '20 euros', null],
    ['I still owe my sister a book, by Friday.', 'user', 'sister', 'a book', '2026-11-20'],
    ['I owe 20 euros to Tom for lunch', 'user', 'Tom', '20 euros for lunch', null],
    ['Tom owes me €20', 'Tom', 'user', '€20', null],
    ['I promised my sister to send the photos by Friday', 'user', 'sister', 'send the photos', '2026-11-20'],
    ['I promised to water the plants tomorrow', 'user', null, 'water the plants', '2026-11-16'],
    ["I promised Tom that I'd help him move", 'user', 'Tom', 'help him move', null],
    ['I told Tom I would call him on Monday', 'user', 'Tom', 'call him', '2026-11-16'],
    ['My boss promised me a raise by 1 December', 'boss', 'user', 'a raise', '2026-12-01'],
    ['Anna promised she would visit in two weeks', 'Anna', 'user', 'visit', '2026-11-29'],
    ['I agreed with Tom to share the car', 'user', 'Tom', 'share the car', null],
    ['I have to pay the rent by the end of the month', 'user', null, 'pay the rent', '2026-11-30'],
  ])('MEM-8 reads the promise of: %s', (text, who, toWhom, what, deadline) => {
    expect(read(text).commitments).toEqual([{ who, toWhom, what, deadline }])
  })

  it.each([
    ['Bea is short for Beatrice', 'Bea=Beatrice'],
    ['Beatrice is also known as Bea.', 'Bea=Beatrice'],
    ['Beatrice’s nickname is Bea', 'Bea=Beatrice'],
    ['Everyone calls Beatrice Bea', 'Bea=Beatrice'],
    ['When I say Bea, I mean Beatrice', 'Bea=Beatrice'],
    ['We call my sister Annie', 'Annie=sister'],
  ])('MEM-8 reads the alias of: %s', (text, expected) => {
    expect(read(text).aliases.map(({ alias, entity }) => `${alias}=${entity}`)).toEqual([expected])
  })

  it('MEM-8 “my sister” stands for the person named so', () => {
    const names = (text: string) => read(text).aliases.map(({ alias, entity }) => `${alias}=${entity}`)
    expect(names('My sister Anna lives in Rome')).toEqual(['my sister=sister', 'sister=Anna'])
    expect(names('I owe my sister 5 euros')).toEqual(['my sister=sister'])
    // There can be many friends.
    expect(names('My friend Tom lives in Rome')).toEqual([])
  })

  it('MEM-8 marks attributes with several values', () => {
    expect(read('I am vegan').multiValued).toEqual(['is'])
    expect(read('I live in Rome').multiValued).toEqual([])
  })

  it.each([
    'What do I owe Tom?',
    'Is Anna a nurse?',
    'If I owe Tom 20 euros, I pay.',
    "I don't owe Tom 20 euros",
    'I never promised Anna to call',
    'Tom said I owe him 20 euros',
    'Maybe Anna is a nurse',
    '“I live in Rome”, he told us',
    'I used to live in Rome',
    'I have to pay the rent',
    'I owe you one',
    'I love it',
    'Dinner is a disaster',
    'Today is a good day',
    'This is a teacher',
    'My password is hunter2',
    'My car is red',
    'I am a bit tired',
    'She is a nurse',
    'Write a poem on the sea',
    `Anna lives in ${'a very long place '.repeat(30)}`,
  ])('MEM-8 reads nothing from: %s', (text) => {
    expect(read(text)).toMatchObject({ facts: [], commitments: [], aliases: [], multiValued: [] })
  })

  it.each([
    ['I am not vegetarian any more.', { entity: 'user', attribute: 'is', value: 'vegetarian' }],
    ["I'm no longer a vegetarian", { entity: 'user', attribute: 'is', value: 'vegetarian' }],
    ["I don't live in Berlin anymore", { entity: 'user', attribute: 'lives in', value: 'Berlin' }],
    ['I used to live in Rome', { entity: 'user', attribute: 'lives in', value: 'Rome' }],
    ['Anna does not work at Acme any longer', { entity: 'Anna', attribute: 'works at', value: 'Acme' }],
  ])('MEM-8 reads that a fact has ended: %s', (text, fact) => {
    expect(read(text)).toMatchObject({ facts: [], ended: [fact] })
  })

  it.each(['I moved: I live in Hamburg now.', 'I live in Hamburg these days', 'I now live in Hamburg'])(
    'MEM-8 reads the current fact of: %s',
    (text) => {
      expect(read(text)).toMatchObject({ facts: [{ entity: 'user', attribute: 'lives in', value: 'Hamburg' }] })
    },
  )

  it('MEM-8 reads any text without an error, and a long one in limited time', () => {
    const word = fc.constantFrom(
      'I',
      'my',
      'sister',
      'Anna',
      'owe',
      'is',
      'a',
      'promised',
      'to',
      "'s",
      'by',
      'Friday',
      '.',
      ',',
      'and',
    )
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'binary' }), fc.array(word, { maxLength: 40 })), (text) => {
        const { facts, commitments } = read(typeof text === 'string' ? text : text.join(' '))
        for (const fact of facts) expect(fact.value.length).toBeLessThanOrEqual(80)
        for (const { what } of commitments) expect(what.length).toBeLessThanOrEqual(200)
      }),
    )
    for (const piece of ['I owe Anna ', 'my ', 'A', "'s is ", 'promised to ', ' and I ']) read(piece.repeat(20_000))
  })
})
