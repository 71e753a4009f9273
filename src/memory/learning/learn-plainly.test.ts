import { afterEach, beforeEach, expect, it } from 'vitest'
import { type LearningMemory, openLearningMemory } from '../../../test/support/learning-memory.ts'
import { learnPlainly } from './learn-plainly.ts'

let memory: LearningMemory

beforeEach(async () => {
  memory = await openLearningMemory()
})

afterEach(() => memory.close())

it('MEM-8 takes the facts and promises out of a note, once, beside the note', async () => {
  const from = { userId: 'max', at: memory.clock.now(), label: 'internal' as const, turnId: 'turn' }
  const text = 'Bea is a marine biologist. I owe Bea 20 euros.'
  await memory.memories.add({ userId: 'max', kind: 'note', content: text, source: 'user' })
  expect(await learnPlainly(memory, { ...from, text })).toEqual({ notes: 0, facts: 1, commitments: 1, aliases: 0 })
  expect(await learnPlainly(memory, { ...from, text })).toEqual({ notes: 0, facts: 0, commitments: 0, aliases: 0 })
  expect(await memory.contents('max', 'fact')).toEqual(['Bea: occupation is marine biologist'])
  const [fact] = await memory.memories.list('max', { limit: 1, kinds: ['fact'] })
  expect(fact).toMatchObject({ source: 'extracted', turnId: 'turn' })
  expect(await learnPlainly(memory, { ...from, text: 'Nothing of the kind' })).toMatchObject({ facts: 0 })
  expect(await memory.contents('eve', 'fact')).toEqual([])
})
