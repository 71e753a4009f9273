import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type MemoryStore, openMemoryStore } from '../../test/support/memory-store.ts'
import { testSize } from '../../test/support/test-size.ts'

let store: MemoryStore
const add = (alias: string, entity: string, userId = 'max') => store.aliases.add(userId, alias, entity)
const resolve = (name: string, userId = 'max') => store.aliases.resolve(userId, name)
const namesOf = async (name: string) => (await store.aliases.namesOf('max', name)).toSorted()

beforeEach(async () => {
  store = await openMemoryStore()
})

afterEach(() => store.close())

describe('aliases', () => {
  it('MEM-10 resolve through each other, folded', async () => {
    expect(await add('Bee', 'Bea')).toBe(true)
    expect(await add('Bea', 'Beatrice Müller')).toBe(true)
    expect(await resolve('BEE')).toEqual(['Beatrice Müller'])
    expect(await resolve(' beatrice  muller ')).toEqual(['Beatrice Müller'])
    expect(await resolve('Nobody')).toEqual(['Nobody'])
    expect(await namesOf('Bea')).toEqual(['Bea', 'Beatrice Müller', 'Bee'])
    expect(await namesOf('Nobody')).toEqual(['Nobody'])
  })

  it('MEM-10 a known alias is not added again, and an entity has its latest name', async () => {
    expect(await add('Bee', 'beatrice')).toBe(true)
    expect(await add('BEE', 'Beatrice')).toBe(false)
    expect(await add('beatrice', 'BEATRICE')).toBe(false)
    expect(await store.aliases.list('max')).toEqual([{ alias: 'Bee', entity: 'Beatrice' }])
    expect(await resolve('bee')).toEqual(['Beatrice'])
  })

  it('MEM-10 a cycle ends, and all its names are one', async () => {
    await add('A1', 'B1')
    await add('B1', 'C1')
    await add('C1', 'A1')
    await add('Outside', 'B1')
    const one = await resolve('A1')
    expect(one).toHaveLength(1)
    for (const name of ['B1', 'C1', 'Outside']) expect(await resolve(name)).toEqual(one)
    expect(await namesOf('C1')).toEqual(['A1', 'B1', 'C1', 'Outside'])
  })

  it('MEM-10 a name that two people share stands for both', async () => {
    await add('Anna', 'Anna (sister)')
    await add('Anna', 'Anna (colleague)')
    await add('Annie', 'Anna (sister)')
    expect((await resolve('anna')).toSorted()).toEqual(['Anna (colleague)', 'Anna (sister)'])
    expect(await resolve('Annie')).toEqual(['Anna (sister)'])
    expect(await namesOf('Anna')).toEqual(['Anna', 'Anna (colleague)', 'Anna (sister)', 'Annie'])
    expect(await namesOf('Annie')).toEqual(['Anna', 'Anna (sister)', 'Annie'])
  })

  it('MEM-10 the user has names, in whichever direction they are given', async () => {
    await add('Max', 'me')
    await add('I', 'Maxi')
    expect(await store.aliases.list('max')).toEqual([
      { alias: 'Max', entity: 'user' },
      { alias: 'Maxi', entity: 'user' },
    ])
    expect(await resolve('maxi')).toEqual(['user'])
    expect(await resolve('myself')).toEqual(['user'])
    expect(await store.aliases.remove('max', 'user', 'Maxi')).toBe(true)
    expect(await resolve('Maxi')).toEqual(['Maxi'])
  })

  it('MEM-10 one is removed without the others', async () => {
    await add('Anna', 'Anna (sister)')
    await add('Anna', 'Anna (colleague)')
    expect(await store.aliases.remove('max', 'ANNA', 'anna (sister)')).toBe(true)
    expect(await store.aliases.remove('max', 'Anna', 'Anna (sister)')).toBe(false)
    expect(await resolve('Anna')).toEqual(['Anna (colleague)'])
  })

  it("MEM-1 other users' names are not visible", async () => {
    await add('Bee', 'Beatrice')
    expect(await resolve('Bee', 'eve')).toEqual(['Bee'])
    expect(await store.aliases.list('eve')).toEqual([])
    expect(await store.aliases.remove('eve', 'Bee', 'Beatrice')).toBe(false)
    expect(await add('Bee', 'Beethoven', 'eve')).toBe(true)
    expect(await resolve('Bee')).toEqual(['Beatrice'])
  })

  it('MEM-10 a name must not be empty', async () => {
    await expect(add(' ', 'Bea')).rejects.toMatchObject({ code: 'bad_request' })
    await expect(add('Bea', 'x'.repeat(300))).rejects.toMatchObject({ code: 'payload_too_large' })
  })

  it('MEM-10 in any graph of names, exactly the connected ones are found', async () => {
    const name = fc.constantFrom('a1', 'b1', 'c1', 'd1', 'e1', 'f1')
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(name, name), { maxLength: 12 }), name, async (links, start) => {
        for (const { alias, entity } of await store.aliases.list('max'))
          await store.aliases.remove('max', alias, entity)
        for (const [alias, entity] of links) await add(alias, entity)
        const reaches = (from: string, seen = new Set([from])): Set<string> => {
          for (const at of seen) for (const [alias, entity] of links) if (alias === at) seen.add(entity)
          return seen
        }
        const ends = await resolve(start)
        expect(ends.length).toBeGreaterThan(0)
        for (const end of ends) {
          expect(reaches(start).has(end)).toBe(true)
          expect([...reaches(end)].every((other) => reaches(other).has(end))).toBe(true)
        }
        const names = await namesOf(start)
        const expected = ['a1', 'b1', 'c1', 'd1', 'e1', 'f1'].filter((other) =>
          ends.some((end) => reaches(other).has(end)),
        )
        expect(names).toEqual(expected)
      }),
      { numRuns: testSize({ whole: 60, onPostgres: 20 }) },
    )
  })
})
