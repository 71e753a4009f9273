import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openRecallStore, type RecallStore } from '../../../test/support/recall-store.ts'

const day = 24 * 60 * 60 * 1_000
let store: RecallStore
beforeEach(async () => {
  store = await openRecallStore()
})
afterEach(() => store.close())

describe('recall by words', () => {
  it('MEM-3 finds by any word of the question, those with more words first', async () => {
    await store.note('The bike is in the garage')
    await store.note('The red bike has a flat tyre')
    await store.note('Anna lives in Oslo')
    expect(await store.ask('Where did I put my red bike?')).toEqual([
      'The red bike has a flat tyre',
      'The bike is in the garage',
    ])
    expect(await store.ask('Who plays the violin?')).toEqual([])
  })

  it.each([
    ['What was I painting?', 'I painted the fence'],
    ['Which decisions did we take?', 'We decided nothing, a decision is due'],
    ['Where did we go on holiday?', 'They went to Crete'],
    ['What did I buy?', 'I bought a lamp'],
    ['How are the children?', 'The kid has a cold'],
    ['Where does my mother live?', 'Mum is in Bergen'],
    ['What allergies do I have?', 'I am allergic to shellfish'],
    ['Where is the cafe?', 'The café is by the river'],
    ['What is in the CELLAR?', 'The cellar is full of wine'],
  ])('MEM-3 finds a word in another form: %s', async (question, answer) => {
    await store.note(answer)
    await store.note('The sky is blue')
    expect(await store.ask(question)).toEqual([answer])
  })

  it('MEM-3 finds by title, tag and category', async () => {
    await store.note('Two eggs, flour, milk', { title: 'Pancakes' })
    await store.note('Call before noon', { tags: ['plumber'] })
    await store.note('Blue folder, second shelf', { category: 'taxes' })
    expect(await store.ask('How do I make pancakes?')).toEqual(['Two eggs, flour, milk'])
    expect(await store.ask('when can I reach the plumber')).toEqual(['Call before noon'])
    expect(await store.ask('my taxes')).toEqual(['Blue folder, second shelf'])
  })

  it('MEM-1 searches all five kinds at once, or the requested ones', async () => {
    await store.note('A note about sailing')
    await store.talk('talk', ['I like sailing'])
    await store.facts.write({ userId: 'max', entity: 'Bo', attribute: 'hobby', value: 'sailing', source: 'user' })
    await store.database.write((writer) =>
      store.episodes.addIn(writer, {
        userId: 'max',
        summary: 'A day of sailing',
        topics: [],
        decisions: [],
        tone: null,
        startedAt: store.clock.now(),
        endedAt: store.clock.now(),
        source: 'extracted',
      }),
    )
    await store.commitments.add({ userId: 'max', who: 'user', what: 'go sailing with Bo', source: 'user' })
    const ask = async (kinds?: ('note' | 'fact')[]) => {
      const found = await store.recall({ userId: 'max', text: 'sailing', limit: 10, kinds })
      return found.map(({ memory }) => memory.kind).toSorted()
    }
    expect(await ask()).toEqual(['chunk', 'commitment', 'episode', 'fact', 'note'])
    expect(await ask(['note', 'fact'])).toEqual(['fact', 'note'])
    expect(await ask([])).toEqual([])
  })

  it('MEM-3 returns the requested number', async () => {
    for (let number = 0; number < 15; number += 1) await store.note(`Bike number ${number}`)
    const all = await store.ask('bike', 100)
    expect(all).toHaveLength(15)
    expect(await store.ask('bike', 0)).toEqual([])
    expect(await store.ask('bike', 1)).toEqual(all.slice(0, 1))
    expect(await store.ask('bike', 5)).toEqual(all.slice(0, 5))
  })
})

describe('recall in conversations', () => {
  it('MEM-3 finds the answering line even if only the line before it contains a word of the question', async () => {
    await store.talk('market', [
      'Where did you find that lamp?',
      'At the flea market by the harbour',
      'How much was it?',
    ])
    await store.talk('other', ['Good morning', 'At the office by the station', 'See you'])
    const found = await store.ask('Where does the lamp come from?')
    expect(found.slice(0, 2)).toContain('At the flea market by the harbour')
    expect(found).not.toContain('At the office by the station')
  })

  it("MEM-3 ranks the named speaker's words first", async () => {
    await store.talk('climbing', ['Anna: I started climbing in spring', 'Bo: I started climbing in autumn'])
    expect((await store.ask('When did Bo start climbing?'))[0]).toBe('I started climbing in autumn')
    expect((await store.ask('When did Anna start climbing?'))[0]).toBe('I started climbing in spring')
  })

  it("MEM-3 ranks the user's words before the reply, unless the reply is requested", async () => {
    await store.talk('tent', ['user: The tent is green with two poles', 'assistant: The tent is green with two poles'])
    const speakers = async (text: string) =>
      (await store.recall({ userId: 'max', text, limit: 1 })).map(({ memory }) => memory.speaker)
    expect(await speakers('What colour is the tent?')).toEqual(['user'])
    await store.talk('tent again', ['assistant: I recommend the tent from Norway', 'user: I saw a tent from Norway'])
    const replies = await store.recall({ userId: 'max', text: 'Which Norway tent did you recommend?', limit: 1 })
    expect(replies[0]?.memory.speaker).toBe('assistant')
  })

  it('MEM-12 finds memories linked to the best, without a common word', async () => {
    const bike = await store.note('The bike was stolen')
    const lock = await store.note('Case 4711 at the police station')
    await store.note('Nothing to do with it')
    await store.graph.link('max', { sourceId: bike.id, targetId: lock.id, relation: 'reported as', weight: 0.9 })
    expect(await store.ask('What happened to the bike?')).toEqual([
      'The bike was stolen',
      'Case 4711 at the police station',
    ])
  })
})

describe('recall by days', () => {
  /** Days count from Sunday, 15 November 2026. */
  async function told(daysAgo: number, content: string): Promise<void> {
    await store.note(content, { at: store.clock.now() - daysAgo * day })
  }

  it('MEM-3 finds what was said on the requested days, and nothing else', async () => {
    await told(4, 'The boiler was repaired')
    await told(11, 'The roof leaks')
    await told(40, 'The garden is done')
    await told(190, 'The fence was painted')
    expect(await store.ask('What did I tell you this week?')).toEqual(['The boiler was repaired'])
    expect((await store.ask('What did I tell you last week?'))[0]).toBe('The roof leaks')
    expect(await store.ask('What did we talk about in May?')).toEqual(['The fence was painted'])
    expect(await store.ask('What happened in 2019?')).toEqual([])
  })

  it('MEM-3 finds references to the days, whenever they were said', async () => {
    await told(1, 'The car goes to the garage on 3 December 2026')
    await told(1, 'On 3 May 2026 the cat came home')
    await told(190, 'Nothing much')
    expect(await store.ask('What is on 3 December 2026?')).toEqual(['The car goes to the garage on 3 December 2026'])
    expect((await store.ask('What happened on 3 May 2026?'))[0]).toBe('On 3 May 2026 the cat came home')
  })

  it('MEM-3 ranks what was said on those days first', async () => {
    await told(40, 'We cooked lentils')
    await told(8, 'We cooked noodles')
    await told(0, 'We cooked rice')
    expect((await store.ask('What did we cook last week?'))[0]).toBe('We cooked noodles')
    expect((await store.ask('What did we cook in October?'))[0]).toBe('We cooked lentils')
  })
})

describe('recall explanations', () => {
  it("MEM-4 list each signal's contribution, the largest first, and add up to the score", async () => {
    await store.note('My bike is red', { tags: ['bike'] })
    await store.note('Is the bike red?')
    await store.talk('talk', ['Where is the bike?', 'In the shed'])
    const found = await store.recall({ userId: 'max', text: 'What colour is my bike?', limit: 10 })
    expect(found).toHaveLength(4)
    for (const { score, explain } of found) {
      const added = explain.signals.map((signal) => signal.added)
      expect(added.reduce((sum, part) => sum + part, 0)).toBeCloseTo(score, 10)
      expect(added.map(Math.abs)).toEqual(added.map(Math.abs).toSorted((a, b) => b - a))
      for (const { value } of explain.signals) expect(value > 0 && value <= 1).toBe(true)
      expect(explain.strength).toBeCloseTo(0.8, 3)
    }
    const scores = found.map(({ score }) => score)
    expect(scores).toEqual(scores.toSorted((a, b) => b - a))
  })

  it("MEM-4 name the list and the rank in it, and the memory's source", async () => {
    await store.note('The bike and the other bike are red', { sessionId: 'session-1', turnId: 'turn-1' })
    await store.note('The bike, the car and the bus are red')
    for (const colour of ['blue', 'green', 'white']) await store.note(`The house is ${colour}`)
    const [first, second] = await store.recall({ userId: 'max', text: 'bike', limit: 2 })
    const words = [first, second].map((found) => found?.explain.signals.find(({ name }) => name === 'words'))
    expect(words).toMatchObject([{ rank: 1 }, { rank: 2 }])
    expect(first?.memory).toMatchObject({ sessionId: 'session-1', turnId: 'turn-1', source: 'user', label: 'owner' })
  })
})
