import { describe, expect, it } from 'vitest'
import type { FactReply } from '../../../src/protocol/memory.ts'
import { countBy, filterFacts, readSorting, sortFacts, writeSorting } from './facts.tsx'

const fact = (entity: string, attribute: string, value: string, confidence = 1) =>
  ({ entity, attribute, value, confidence, valid_from: '2026-11-15T12:00:00Z' }) as FactReply
const facts = [
  fact('Ruth', 'home', 'Porto', 0.9),
  fact('ann', 'age', '9'),
  fact('Ann', 'age', '30', 0.5),
  fact('Ruth', 'job', 'marine biologist'),
]
const values = (list: readonly FactReply[]) => list.map(({ value }) => value)

describe('the table of facts', () => {
  it('PAGE-6 sorts by any column, numbers as numbers', () => {
    expect(values(sortFacts(facts, { by: 'value', isDown: false }))).toEqual(['9', '30', 'marine biologist', 'Porto'])
    expect(values(sortFacts(facts, { by: 'confidence', isDown: true })).at(-1)).toBe('30')
  })

  it('PAGE-6 filters by words, entity and attribute', () => {
    const all = { words: '', entity: '', attribute: '' }
    expect(filterFacts(facts, all)).toHaveLength(4)
    expect(values(filterFacts(facts, { ...all, words: 'ruth BIO' }))).toEqual(['marine biologist'])
    expect(values(filterFacts(facts, { ...all, entity: 'Ruth', attribute: 'home' }))).toEqual(['Porto'])
  })

  it('PAGE-6 counts, the most first', () => {
    expect(countBy(facts, 'attribute')).toEqual([
      { name: 'age', count: 2 },
      { name: 'home', count: 1 },
      { name: 'job', count: 1 },
    ])
  })

  it('PAGE-6 keeps its order in the address', () => {
    expect(readSorting('-entity')).toEqual({ by: 'entity', isDown: true })
    expect(writeSorting(readSorting('value'))).toBe('value')
    expect(readSorting('constructor')).toEqual({ by: 'valid_from', isDown: true })
    expect(readSorting(null)).toEqual({ by: 'valid_from', isDown: true })
  })
})
