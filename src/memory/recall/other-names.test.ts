import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { anyText } from '../../../test/support/any-text.ts'
import { openRecallStore, type RecallStore } from '../../../test/support/recall-store.ts'
import { otherNames } from './recall.ts'

let store: RecallStore
beforeEach(async () => {
  store = await openRecallStore()
})
afterEach(() => store.close())

async function othersIn(text: string): Promise<string[]> {
  return (await otherNames(store.database, 'max', text)).toSorted()
}

describe('otherNames', () => {
  it('MEM-10 finds all names of the people in a text, transitively, in either direction', async () => {
    await store.aliases.add('max', 'Bee', 'Bea')
    await store.aliases.add('max', 'Bea', 'Beatrice Lund')
    await store.aliases.add('eve', 'Bee', 'Bernard')
    expect(await othersIn("What is BEE's number?")).toEqual(['Bea', 'Beatrice Lund'])
    expect(await othersIn('Is Beatrice Lund ill?')).toEqual(['Bea', 'Bee'])
    expect(await othersIn('Is Beatrice ill?')).toEqual([])
    expect(await othersIn('Did bees sting?')).toEqual([])
  })

  it('MEM-10 finds names of several words, with accents and signs', async () => {
    await store.aliases.add('max', 'my aunt May', 'Zoë O’Brien')
    expect(await othersIn('Where does my aunt May live?')).toEqual(['Zoë O’Brien'])
    expect(await othersIn("and zoe o'brien's cat")).toEqual(['my aunt May'])
  })

  it('MEM-10 does not treat a stop word as a name', async () => {
    await store.aliases.add('max', 'Will', 'William')
    await store.aliases.add('max', 'Max', 'user')
    expect(await othersIn('When will I tell me?')).toEqual([])
  })

  it('MEM-10 accepts any text', async () => {
    await store.aliases.add('max', 'Bee', 'Bea')
    await fc.assert(
      fc.asyncProperty(anyText, async (text) => {
        expect(await othersIn(`${text} Bee ${text}`)).toEqual(await othersIn(`${text} Bee ${text}`))
      }),
      { numRuns: 40 },
    )
    expect(await othersIn('Bee '.repeat(25_000))).toEqual(['Bea'])
  })
})

describe('recall by another name', () => {
  it('MEM-3 finds memories under any name of a person in the question', async () => {
    await store.aliases.add('max', 'Mum', 'Greta')
    await store.note('Greta likes tulips')
    await store.note('Bo likes roses')
    expect((await store.ask('What flowers does Mum like?'))[0]).toBe('Greta likes tulips')
    expect(await store.ask('Mum')).toEqual(['Greta likes tulips'])
  })

  it('MEM-3 recognizes a speaker by another name', async () => {
    await store.aliases.add('max', 'Sis', 'Anna')
    await store.talk('climbing', ['Anna: I started climbing in spring', 'Bo: I started climbing in autumn'])
    const [first] = await store.ask('When did Sis start climbing?')
    expect(first).toBe('I started climbing in spring')
  })
})
