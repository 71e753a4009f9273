import { afterEach, beforeEach, expect, it } from 'vitest'
import { type LearningMemory, openLearningMemory } from '../../../test/support/learning-memory.ts'
import { learnPlainly } from './extraction.ts'

let memory: LearningMemory

beforeEach(async () => {
  memory = await openLearningMemory()
})

afterEach(() => memory.close())

it('MEM-8 extracts the facts and promises of a note, once, and keeps the note', async () => {
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

it('MEM-10 two people of one name stay separate', async () => {
  const tell = async (text: string) => {
    await memory.clock.advance(1_000)
    await learnPlainly(memory, { userId: 'max', at: memory.clock.now(), label: 'internal', turnId: text, text })
  }
  const livesIn = async (entity: string) => {
    const found = await memory.facts.find({ userId: 'max', entity, attribute: 'lives in' })
    return found.map((fact) => `${fact.entity}: ${fact.value}`).toSorted()
  }
  await tell('My sister Anna lives in Berlin')
  await tell('My colleague Anna lives in Oslo')
  expect(await livesIn('Anna')).toEqual(['Anna (colleague): Oslo', 'Anna: Berlin'])
  expect(await livesIn('my sister')).toEqual(['Anna: Berlin'])
  await tell('My colleague Anna lives in Bergen')
  await tell('My sister Anna lives in Bonn')
  expect(await livesIn('Anna')).toEqual(['Anna (colleague): Bergen', 'Anna: Bonn'])
  expect(await livesIn('Ann')).toEqual([])
})
