import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type MemoryStore, openMemoryStore } from '../../test/support/memory-store.ts'
import { testSize } from '../../test/support/test-size.ts'
import { type FactQuestion, factBeginning, type NewFact, readFact } from './facts.ts'

let store: MemoryStore

beforeEach(async () => {
  store = await openMemoryStore()
})

afterEach(() => store.close())

/** `Anna: job = baker`, by the user unless stated otherwise. */
async function write(text: string, more: Partial<NewFact> = {}) {
  const [, entity = '', attribute = '', value = ''] = /^(.*?): (.*?) = (.*)$/.exec(text) ?? []
  await store.clock.advance(1_000)
  return await store.facts.write({ userId: 'max', entity, attribute, value, source: 'user', ...more })
}

async function found(question: Partial<FactQuestion>): Promise<string[]> {
  const facts = await store.facts.find({ userId: 'max', ...question })
  return facts.map(({ entity, attribute, value }) => `${entity}: ${attribute} = ${value}`)
}

const count = (question: Partial<FactQuestion>) => store.facts.count({ userId: 'max', ...question })

describe('writing facts', () => {
  it('MEM-10 a fact is a memory that reads as a sentence', async () => {
    const { outcome, fact } = await write('user: home town = Berlin', { sessionId: 'session', turnId: 'turn' })
    expect(outcome).toBe('added')
    expect(fact).toMatchObject({ confidence: 1, validFrom: store.clock.now(), validTo: null })
    expect(await store.facts.get('max', fact.id)).toEqual(fact)
    expect(await store.memories.get('max', fact.id)).toMatchObject({
      kind: 'fact',
      content: 'user: home town is Berlin',
      sessionId: 'session',
      turnId: 'turn',
    })
    expect(await store.facts.get('eve', fact.id)).toBeUndefined()
  })

  it.each([
    ['user: lives in = Rome', 'user lives in Rome'],
    ['Anna: is called = Annie', 'Anna is called Annie'],
    ['user: allergic to = peanuts', 'user is allergic to peanuts'],
    ['user: is = vegetarian', 'user is vegetarian'],
    ['user: likes = the film: it is long', 'user likes the film: it is long'],
    ['user: brother = Jonas', 'user: brother is Jonas'],
    ['Anna: motto = who lives in peace is rich', 'Anna: motto is who lives in peace is rich'],
  ])('MEM-10 %s reads “%s”', async (given, content) => {
    const { fact } = await write(given)
    expect((await store.memories.get('max', fact.id))?.content).toBe(content)
    const { entity, attribute, value } = fact
    expect(readFact(content)).toEqual({ entity, attribute, value })
  })

  it('MEM-10 a fact of an older version keeps its form, and can be edited in both', async () => {
    const fact = { entity: 'Anna', attribute: 'lives in', value: 'Rome' }
    expect(readFact('Anna: lives in is Rome')).toEqual(fact)
    expect(factBeginning(fact, 'Anna: lives in is Oslo')).toBe('Anna: lives in is ')
    expect(factBeginning(fact, 'Anna lives in Oslo')).toBe('Anna lives in ')
  })

  it('MEM-10 the same value confirms: higher confidence, and used', async () => {
    const first = await write('user: home town = Berlin', { source: 'extracted', confidence: 0.6 })
    const again = await write('Me: Home Towns =  BERLIN. ', { source: 'agent', confidence: 0.9 })
    const weaker = await write('user: home_town = Berlin', { source: 'agent', confidence: 0.2 })
    expect(again).toEqual({ outcome: 'confirmed', fact: { ...first.fact, confidence: 0.9 } })
    expect(weaker).toEqual({ outcome: 'confirmed', fact: { ...first.fact, confidence: 0.9 } })
    expect(await store.facts.get('max', first.fact.id)).toEqual(again.fact)
    const memory = await store.memories.get('max', first.fact.id)
    expect(memory).toMatchObject({ useCount: 2, usedAt: store.clock.now(), source: 'extracted' })
    expect(await store.memories.list('max', { limit: 10 })).toHaveLength(1)
  })

  it('MEM-10 a value that the user confirms is the user’s own from then on', async () => {
    const { fact } = await write('user: home town = Berlin', { source: 'extracted' })
    await write('user: home town = berlin')
    expect(await store.memories.get('max', fact.id)).toMatchObject({ source: 'user', label: 'owner' })
    expect(await write('user: home town = Bonn', { source: 'agent' })).toMatchObject({ outcome: 'refused' })
  })

  it('MEM-10 another value closes the old one and opens the new', async () => {
    const old = await write('user: home town = Berlin')
    const replaced = await write('user: home towns = Oslo')
    const at = store.clock.now()
    expect(replaced).toMatchObject({ outcome: 'replaced', old: { ...old.fact, validTo: at }, fact: { value: 'Oslo' } })
    expect(await found({ entity: 'user', attribute: 'home town' })).toEqual(['user: home towns = Oslo'])
    expect(await found({ value: 'Berlin' })).toEqual([])
    expect(await found({ entity: 'user', attribute: 'home town', history: true })).toEqual([
      'user: home towns = Oslo',
      'user: home town = Berlin',
    ])
    expect(await found({ value: 'berlin', history: true })).toEqual(['user: home town = Berlin'])
    expect(await found({ entity: 'user', value: 'berlin', history: true })).toHaveLength(1)
    const memory = await store.memories.get('max', old.fact.id)
    expect(memory).toMatchObject({ supersededAt: at, supersededBy: replaced.fact.id })
    expect(await store.facts.get('max', old.fact.id)).toEqual({ ...old.fact, validTo: at })
  })

  it('MEM-10 a superseded value is neither listed nor searched, and can become true again', async () => {
    await write('user: home town = Berlin')
    await write('user: home town = Oslo')
    expect(await store.search('max', 'Berlin home town')).toEqual(['user: home town is Oslo'])
    expect((await store.memories.list('max', { limit: 10 })).map((memory) => memory.content)).toEqual([
      'user: home town is Oslo',
    ])
    expect(await write('user: home town = Berlin')).toMatchObject({ outcome: 'replaced' })
    expect(await store.search('max', 'Berlin home town')).toEqual(['user: home town is Berlin'])
    expect(await found({ attribute: 'home town', history: true })).toHaveLength(3)
  })

  it('MEM-10 lower confidence does not replace higher; equal does', async () => {
    const sure = await write('Bea: job = baker', { source: 'agent', confidence: 0.8 })
    const refused = await write('Bea: job = pilot', { source: 'agent', confidence: 0.7 })
    expect(refused).toMatchObject({ outcome: 'refused', fact: { value: 'pilot' }, known: sure.fact })
    expect(await found({ entity: 'Bea', history: true })).toEqual(['Bea: job = baker'])
    expect(await store.memories.list('max', { limit: 10 })).toHaveLength(1)
    expect(await write('Bea: job = pilot', { source: 'extracted', confidence: 0.8 })).toMatchObject({
      outcome: 'replaced',
    })
  })

  it('MEM-10 the user’s own value is replaced only by the user, or by higher confidence', async () => {
    await write('Bea: job = baker', { confidence: 0.8 })
    for (const source of ['agent', 'extracted', 'tool', 'import'] as const) {
      expect((await write('Bea: job = pilot', { source, confidence: 0.8 })).outcome).toBe('refused')
    }
    expect((await write('Bea: job = pilot', { source: 'agent', confidence: 0.9 })).outcome).toBe('replaced')
    expect((await write('Bea: job = painter', { confidence: 0.9 })).outcome).toBe('replaced')
  })

  it('MEM-10 an attribute with several values keeps each once', async () => {
    for (const value of ['hiking', 'chess', 'Hiking']) await write(`user: hobbies = ${value}`)
    expect(await found({ entity: 'user', attribute: 'hobby' })).toEqual([
      'user: hobbies = chess',
      'user: hobbies = hiking',
    ])
    await write('user: lucky number = 7')
    await store.facts.declareMultiValued('max', 'lucky numbers')
    await store.facts.declareMultiValued('max', 'lucky numbers')
    await write('user: lucky number = 11')
    expect(await found({ attribute: 'lucky number' })).toHaveLength(2)
    await store.facts.declareMultiValued('max', ' door\u0000 codes')
    for (const value of ['12', '34']) await write(`user: door code = ${value}`)
    expect(await found({ attribute: 'door code' })).toHaveLength(2)
    await write('user: lucky number = 1', { userId: 'eve' })
    expect((await write('user: lucky number = 2', { userId: 'eve' })).outcome).toBe('replaced')
  })

  it('MEM-10 an earlier value closes nothing: it is history', async () => {
    const now = await write('user: home town = Oslo')
    const before = await write('user: home town = Bonn', { at: now.fact.validFrom - 1_000_000, confidence: 0.1 })
    expect(before).toMatchObject({ outcome: 'added', fact: { validTo: now.fact.validFrom } })
    expect(await found({ attribute: 'home town' })).toEqual(['user: home town = Oslo'])
    expect(await found({ attribute: 'home town', history: true })).toHaveLength(2)
    expect(await store.search('max', 'Bonn')).toEqual([])
    expect((await store.memories.get('max', before.fact.id))?.supersededAt).not.toBeNull()
  })

  it('MEM-10 an alias is resolved on writing, also for facts written before it was known', async () => {
    await write('Bee: job = baker')
    await store.aliases.add('max', 'Bee', 'Beatrice')
    expect(await write('Beatrice: job = pilot')).toMatchObject({ outcome: 'replaced', old: { value: 'baker' } })
    expect(await write('bee: job = pilot')).toMatchObject({ outcome: 'confirmed' })
    expect(await write('Bee: age = 40')).toMatchObject({ fact: { entity: 'Beatrice' } })
  })

  it('MEM-10 two people of one name stay separate', async () => {
    await store.aliases.add('max', 'Anna', 'Anna (sister)')
    await store.aliases.add('max', 'Anna', 'Anna (colleague)')
    await write('Anna (sister): job = baker')
    expect((await write('Anna (colleague): job = pilot')).outcome).toBe('added')
    // Which Anna is unknown: it is written as given, and closes nothing.
    expect(await write('Anna: job = singer')).toMatchObject({ outcome: 'added', fact: { entity: 'Anna' } })
    expect(await found({ entity: 'Anna (sister)', attribute: 'job', value: 'baker' })).toHaveLength(1)
    expect(await found({ entity: 'Anna', attribute: 'job' })).toHaveLength(3)
    expect(await write('Anna (sister): job = cook')).toMatchObject({ outcome: 'replaced', old: { value: 'baker' } })
  })

  it('MEM-10 rejects empty and too long text', async () => {
    for (const fact of [' : job = baker', 'Bea:   = baker', 'Bea: job =  ']) {
      await expect(write(fact)).rejects.toMatchObject({ code: 'bad_request' })
    }
    await expect(write(`Bea: job = ${'x'.repeat(20_000)}`)).rejects.toMatchObject({ code: 'payload_too_large' })
  })

  it('MEM-10 two facts with the same text are one memory', async () => {
    const first = await write('a: b = c is d')
    expect(await write('a: b is c = d')).toMatchObject({ outcome: 'confirmed', fact: { id: first.fact.id } })
  })

  it('MEM-10 any text can be a fact, and is found by itself', async () => {
    const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 }).map((some) => `x${some}`)
    await fc.assert(
      fc.asyncProperty(text, text, text, async (entity, attribute, value) => {
        const { fact } = await store.facts.write({ userId: 'max', entity, attribute, value, source: 'user' })
        const facts = await store.facts.find({ userId: 'max', entity, attribute, value })
        expect(facts.map(({ id }) => id)).toContain(fact.id)
        expect((await store.facts.find({ userId: 'max', value })).map(({ id }) => id)).toContain(fact.id)
      }),
      { numRuns: testSize({ whole: 60, onPostgres: 20 }) },
    )
  })
})

describe('querying facts', () => {
  beforeEach(async () => {
    await write('Bea: job = marine biologist')
    await write('Carl: job = a marine biologist at NOAA')
    await write('Dora: occupation = Marine Biologists')
    await write('Emil: job = biologist')
    await write('Eve: job = marine', { userId: 'eve' })
  })

  it('MEM-10 by any of the three, newest first', async () => {
    expect(await found({ entity: 'BEA' })).toEqual(['Bea: job = marine biologist'])
    expect(await found({ attribute: 'Jobs' })).toHaveLength(3)
    expect(await found({ attribute: 'job', limit: 1 })).toEqual(['Emil: job = biologist'])
    expect(await found({})).toHaveLength(4)
    expect(await found({ entity: 'Emil', attribute: 'job', value: 'marine' })).toEqual([])
    expect(await found({ entity: 'Carl', value: 'marine biologist' })).toEqual([
      'Carl: job = a marine biologist at NOAA',
    ])
    expect(await found({ value: 'NOAA', history: true })).toHaveLength(1)
  })

  it('MEM-10 a value matches entities with all its words', async () => {
    const three = ['Bea', 'Carl', 'Dora']
    for (const value of ['marine biologists', 'Marine Biologist', 'biologist marine', 'a marine biologist']) {
      const facts = await store.facts.find({ userId: 'max', value })
      expect(facts.map((fact) => fact.entity).toSorted()).toEqual(three)
      expect(await count({ value })).toBe(3)
    }
    expect(await count({ value: 'biologist' })).toBe(4)
    expect(await count({ attribute: 'job', value: 'marine biologist' })).toBe(2)
    expect(await count({ value: 'marine engineer' })).toBe(0)
    expect(await count({ attribute: 'job' })).toBe(3)
    expect(await count({})).toBe(4)
    expect(await count({ entity: 'Bea', value: 'marine biologist' })).toBe(1)
  })

  it('MEM-10 counts a person with two names once, and a shared name not beside its bearers', async () => {
    await store.aliases.add('max', 'Doro', 'Dora')
    await write('Doro: field = marine biologist')
    await store.database.write((writer) =>
      writer
        .updateTable('facts')
        .set({ entity: 'Doro', entity_key: 'doro' })
        .where('attribute', '=', 'field')
        .execute(),
    )
    expect(await count({ value: 'marine biologist' })).toBe(3)
    await store.aliases.add('max', 'Sam', 'Bea')
    await store.aliases.add('max', 'Sam', 'Aaron')
    await write('Sam: job = marine biologist')
    expect(await count({ value: 'marine biologist' })).toBe(3)
  })

  it('MEM-10 newest first also for a person with two names, at most the limit', async () => {
    await write('Doro: age = 40')
    await store.aliases.add('max', 'Doro', 'Dora')
    await write('Dora: likes = tea')
    const all = ['Dora: likes = tea', 'Doro: age = 40', 'Dora: occupation = Marine Biologists']
    expect(await found({ entity: 'doro' })).toEqual(all)
    expect(await found({ entity: 'Dora', limit: 2 })).toEqual(all.slice(0, 2))
  })

  it('MEM-10 outdated facts do not count', async () => {
    await write('Carl: job = gardener')
    expect(await count({ attribute: 'job', value: 'marine biologist' })).toBe(1)
    expect(await count({ value: 'marine biologist' })).toBe(2)
  })

  it("MEM-1 other users' facts are neither found nor counted", async () => {
    expect(await store.facts.find({ userId: 'eve' })).toHaveLength(1)
    expect(await store.facts.count({ userId: 'eve', value: 'marine' })).toBe(1)
    expect(await store.facts.count({ userId: 'eve', value: 'biologist' })).toBe(0)
  })

  it('MEM-10 values without words are found literally', async () => {
    await write('Finn: likes = 🎷')
    await write('Gus: likes = C++')
    expect(await found({ value: '🎷' })).toEqual(['Finn: likes = 🎷'])
    expect(await found({ value: 'c++' })).toEqual(['Gus: likes = C++'])
    await write('Hana: job = 海洋生物学者')
    expect(await found({ value: '海洋生物学者' })).toEqual(['Hana: job = 海洋生物学者'])
  })
})
