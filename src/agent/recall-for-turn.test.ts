import { dirname } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type MemoryStore, openMemoryStore } from '../../test/support/memory-store.ts'
import { createMemoryTools } from '../../test/support/memory-tools.ts'
import { createRecallForTurn, type RecallForTurn } from './context.ts'

const dayMs = 86_400_000

let store: MemoryStore
let recallForTurn: RecallForTurn

beforeEach(async () => {
  store = await openMemoryStore()
  const memory = createMemoryTools({ ...store, workspace: dirname(store.path) })
  recallForTurn = createRecallForTurn({ memory, clock: store.clock, timeZone: 'UTC' })
})

afterEach(() => store.close())

async function promise(what: string, inDays: number | undefined, who = 'user') {
  const deadline = inDays === undefined ? undefined : store.clock.now() + inDays * dayMs
  await store.commitments.add({ userId: 'max', who, toWhom: 'Anna', what, deadline, source: 'user' })
}

async function recalled(text: string, userId = 'max') {
  return (await recallForTurn({ userId, text })).map((memory) => `${memory.isDue ? '! ' : ''}${memory.text}`)
}

describe('recallForTurn', () => {
  it('MEM-5 promises of the user come first if they are due within a week or mentioned', async () => {
    await promise('send the photos', 3)
    await promise('paint the fence', 60)
    await promise('return the drill', undefined)
    await promise('call back', 2, 'Tom')
    expect(await recalled('good morning')).toEqual(['! user owes Anna: send the photos'])
    expect(await recalled('Where is the drill?')).toEqual([
      '! user owes Anna: send the photos',
      '! user owes Anna: return the drill',
    ])
    expect(await recalled('good morning', 'eve')).toEqual([])
  })

  it('MEM-5 at most five, the soonest first; finished ones are left out', async () => {
    for (const days of [6, 1, 5, 3, 2, 4]) await promise(`thing number ${days}`, days)
    const [first] = await store.commitments.list({ userId: 'max', limit: 1 })
    await store.commitments.update('max', first?.id ?? '', { state: 'done' })
    expect(await recalled('hello')).toEqual([2, 3, 4, 5, 6].map((days) => `! user owes Anna: thing number ${days}`))
    await promise('thing number 7', 6.5)
    expect(await recalled('hello')).toHaveLength(5)
  })

  it('MEM-5 nothing is added if the message recalls nothing and nothing is due', async () => {
    await store.memories.add({ userId: 'max', kind: 'note', content: 'I like tea', source: 'user' })
    expect(await recalled('hello')).toEqual([])
    expect(await recalled('What tea do I like?')).toEqual(['I like tea'])
  })

  it('MEM-5 as many memories as fit are handed to the turn, which cuts them to its budget', async () => {
    for (let number = 0; number < 50; number += 1) {
      await store.memories.add({
        userId: 'max',
        kind: 'note',
        content: `Tea number ${number} is green`,
        source: 'user',
      })
    }
    expect(await recalled('Which tea is green?')).toHaveLength(36)
  })
})
