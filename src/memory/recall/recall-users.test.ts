import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openRecallStore, type RecallStore } from '../../../test/support/recall-store.ts'
import type { VectorMatch } from '../../storage/database.ts'
import type { Memory } from '../memory.ts'

let store: RecallStore
let matches: VectorMatch[]
beforeEach(async () => {
  matches = []
  // A faulty search may return anything: the test decides.
  store = await openRecallStore({ findByMeaning: async () => matches })
})
afterEach(() => store.close())

async function usersIn(text: string): Promise<string[]> {
  const found = await store.recall({ userId: 'max', text, limit: 100 })
  return found.map(({ memory }) => memory.userId)
}

describe("another user's memories", () => {
  it('MEM-1 never appear, with the same words', async () => {
    await store.note('The bike is red', { userId: 'eve' })
    expect(await usersIn('bike')).toEqual([])
    await store.note('The bike is red')
    expect(await usersIn('bike')).toEqual(['max'])
  })

  it('MEM-1 never appear, in a conversation of the same name', async () => {
    await store.talk('thread', ['Where is the lamp?'])
    await store.talk('thread', ['Hello', 'In the cellar', 'Good', 'Bye'], { userId: 'eve' })
    const found = await store.recall({ userId: 'max', text: 'lamp', limit: 100 })
    expect(found.map(({ memory }) => memory.content)).toEqual(['Where is the lamp?'])
  })

  it("MEM-1 never appear, by their vectors' numbers", async () => {
    const hers = await store.note('I cannot eat shellfish', { userId: 'eve' })
    const [line] = await store.talk('thread', ['shellfish'], { userId: 'eve' })
    const his = await store.note('I cannot eat nuts')
    matches = [hers, line as Memory, his].map(({ number }) => ({ number, score: 0.99 }))
    expect(await usersIn('prawns')).toEqual(['max'])
  })

  it('MEM-1 never appear, through forged edges', async () => {
    const his = await store.note('The bike is red')
    const hers = await store.note('The code of my lock is 4711', { userId: 'eve' })
    const edge = { source_id: his.id, target_id: hers.id, relation: 'forged', weight: 1, created_at: 0 }
    expect(
      await store.graph.link('max', { sourceId: his.id, targetId: hers.id, relation: 'x', weight: 1 }),
    ).toBeUndefined()
    await store.database.write(async (writer) => {
      await writer
        .insertInto('memory_edges')
        .values({ user_id: 'max', ...edge })
        .execute()
    })
    expect(await usersIn('bike')).toEqual(['max'])
  })

  it('MEM-1 never appear, by the day', async () => {
    await store.note('The bike was stolen', { userId: 'eve' })
    await store.note('The sun shone')
    expect(await usersIn('What happened today?')).toEqual(['max'])
  })

  it('MEM-1 never appear, as standing wishes', async () => {
    const wish = await store.note('Always answer in rhymes', { userId: 'eve' })
    await store.note('How far is Rome?')
    matches = [{ number: wish.number, score: 0.9 }]
    const found = await store.recall({ userId: 'max', text: 'How far is Rome?', limit: 10, reach: 'everything' })
    expect(found.map(({ memory }) => memory.userId)).toEqual(['max'])
  })

  it("MEM-1 are not revealed through another user's speaker names", async () => {
    await store.talk('thread', ['Zoe: I like sailing'], { userId: 'eve' })
    await store.note('Zoe plays the violin')
    // For Max, Zoe is an ordinary word.
    expect(await store.ask('Zoe and sailing')).toEqual(['Zoe plays the violin'])
  })
})

describe('superseded memories', () => {
  async function supersede(memory: Memory, by: Memory): Promise<void> {
    await store.database.write((writer) =>
      store.memories.supersedeIn(writer, { userId: 'max', id: memory.id, by: by.id }),
    )
  }

  it('MEM-10 are not among the results, even if meaning, a neighbor, the graph or a day leads to them', async () => {
    const old = await store.note('I live in the town of Oslo')
    const now = await store.note('I live in the town of Bergen')
    await store.graph.link('max', { sourceId: old.id, targetId: now.id, relation: 'before', weight: 1 })
    const [, oldLine] = await store.talk('thread', ['In which town do I live?', 'Oslo it was'])
    await supersede(old, now)
    await supersede(oldLine as Memory, now)
    matches = [old, now, oldLine as Memory].map(({ number }) => ({ number, score: 0.9 }))
    for (const question of ['In which town do I live?', 'Oslo', 'What did I tell you today?']) {
      const found = await store.ask(question)
      expect(found).toContain('I live in the town of Bergen')
      expect(found.join()).not.toContain('Oslo')
    }
  })

  it('MEM-10 give way to the fact that replaced them', async () => {
    const fact = { userId: 'max', entity: 'Anna', attribute: 'city', source: 'user' as const }
    await store.facts.write({ ...fact, value: 'Oslo' })
    await store.facts.write({ ...fact, value: 'Bergen' })
    const found = await store.ask('Which city is Anna in?')
    expect(found).toHaveLength(1)
    expect(found[0]).toContain('Bergen')
  })

  it('MEM-11 forgotten ones are not found, and are again after an undo', async () => {
    const memory = await store.note('The bike is red', { source: 'agent' })
    await store.corrections.forget('max', memory.id, 'user')
    matches = [{ number: memory.number, score: 0.9 }]
    expect(await store.ask('bike')).toEqual([])
    await store.corrections.undo('max')
    expect(await store.ask('bike')).toEqual(['The bike is red'])
  })
})
