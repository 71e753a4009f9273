import { afterEach, beforeEach, expect, it } from 'vitest'
import { type MemoryStore, openMemoryStore } from '../../test/support/memory-store.ts'

let store: MemoryStore

beforeEach(async () => {
  store = await openMemoryStore()
})

afterEach(() => store.close())

async function tell(turnId: string, content: string, address: string) {
  await store.clock.advance(1_000)
  await store.memories.add({ userId: 'max', kind: 'note', content, source: 'user', turnId })
  const fact = {
    userId: 'max',
    entity: 'user',
    attribute: 'address',
    value: address,
    source: 'extracted' as const,
    turnId,
  }
  return await store.facts.write(fact)
}

it('MEM-10 a note that only states the old value becomes history with it', async () => {
  await tell('first', 'My address is 5 Elm Street', '5 Elm Street')
  const { outcome } = await tell('second', 'I live at 9 Oak Road', '9 Oak Road')
  expect(outcome).toBe('replaced')
  expect(await store.search('max', 'address elm street oak road')).toEqual([
    'user: address is 9 Oak Road',
    'I live at 9 Oak Road',
  ])
})

it('MEM-10 a note that says more stays, and so does an equal one of another turn', async () => {
  const more = 'My address is 5 Elm Street, where the piano teacher used to live'
  await tell('first', more, '5 Elm Street')
  await store.memories.add({
    userId: 'max',
    kind: 'note',
    content: 'Bakery: 5 Elm Street',
    source: 'user',
    turnId: 'x',
  })
  await tell('second', 'My address is 9 Oak Road', '9 Oak Road')
  expect(await store.search('max', 'elm')).toEqual(expect.arrayContaining([more, 'Bakery: 5 Elm Street']))
})
