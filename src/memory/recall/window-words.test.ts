import { describe, expect, it } from 'vitest'
import { madeMemory } from '../../../test/support/made-memory.ts'
import type { Memory } from '../memory.ts'
import { createMemoryTerms } from './question.ts'
import { type Candidate, placeOf, placesBeside, windowWords } from './window-words.ts'

const memoryTerms = createMemoryTerms()
let number = 0

function candidate(content: string, change: Partial<Memory> = {}): Candidate {
  number += 1
  const memory = madeMemory({ number, content, ...change })
  return { memory, terms: memoryTerms(memory, []) }
}

/** One conversation, line after line. */
function talk(...lines: (string | Partial<Memory>)[]): Candidate[] {
  return lines.map((line, position) => {
    const change = typeof line === 'string' ? { content: line } : line
    return candidate(change.content ?? '', { threadId: 'talk', position, kind: 'chunk', ...change })
  })
}

function score(terms: string[], candidates: readonly Candidate[], isAlone = false): number[] {
  const beside = new Map(isAlone ? [] : candidates.map((one) => [placeOf(one.memory) ?? '', one]))
  return [...windowWords(terms, candidates, beside).scores]
}

describe('windowWords', () => {
  it('MEM-3 scores by matching words, rare and multiple ones higher', () => {
    const texts = ['a red bike', 'a blue bike', 'a green bike', 'a red car', 'nothing else']
    const [redBike = 0, blueBike = 0, , redCar = 0, other] = score(
      ['red', 'bike'],
      texts.map((text) => candidate(text)),
    )
    expect(redBike).toBeGreaterThan(redCar)
    expect(redCar).toBeGreaterThan(blueBike)
    expect(blueBike).toBeGreaterThan(0)
    expect(other).toBe(0)
  })

  it('MEM-3 scores neighbors of a matching line lower, decreasing with distance', () => {
    const lines = talk('hello', 'where did you buy the bike?', 'at the market in town', 'oh nice', 'bye then', 'bye')
    const [before = 0, asked = 0, answer = 0, after = 0, far] = score(['bike'], lines)
    expect(asked).toBeGreaterThan(answer)
    expect(answer).toBeGreaterThan(after)
    expect(answer).toBeGreaterThan(before)
    expect(after).toBeGreaterThan(0)
    expect(far).toBe(0)
    expect(score(['bike'], lines, true).map((value) => value > 0)).toEqual([false, true, false, false, false, false])
  })

  it("MEM-3 ignores long prose as a neighbor, except the user's", () => {
    const long = `the bike ${'and so on '.repeat(60)}`
    expect(score(['bike'], talk({ content: long }, 'what?'))[1]).toBe(0)
    expect(score(['bike'], talk({ content: long, speaker: 'user' }, 'what?'))[1]).toBeGreaterThan(0)
    expect(score(['bike'], talk({ content: 'the bike', passages: 3 }, 'what?'))[1]).toBe(0)
    // Long prose gets no score from neighbors either.
    expect(score(['car'], talk({ content: long, speaker: 'user' }, 'the car'))[0]).toBe(0)
  })

  it('MEM-3 keeps conversations separate', () => {
    const here = candidate('the bike', { threadId: 'here', position: 1 })
    const there = candidate('what?', { threadId: 'there', position: 2 })
    const alone = candidate('what?')
    expect(score(['bike'], [here, there, alone]).slice(1)).toEqual([0, 0])
    expect(placesBeside(alone.memory)).toEqual([])
    expect(placesBeside(here.memory).map(({ position }) => position)).toEqual([-1, 0, 2, 3])
  })

  it('MEM-3 scores zero without matches', () => {
    expect(score([], [candidate('a bike')])).toEqual([0])
    expect(score(['bike'], [])).toEqual([])
    expect(score(['bike'], [candidate('!')])).toEqual([0])
  })
})

describe('createMemoryTerms', () => {
  it('MEM-3 reads title, content and tags, and reads a changed memory again', () => {
    const terms = createMemoryTerms()
    const memory = madeMemory({ title: 'Transport', content: 'The bike', tags: ['garage'] })
    expect(terms(memory, [])).toEqual(['transport', 'bike', 'garag'])
    expect(terms({ ...memory, content: 'The car', updatedAt: 1 }, [])).toEqual(['transport', 'car', 'garag'])
  })

  it('MEM-3 gives the same result beyond its cache size', () => {
    const terms = createMemoryTerms()
    const memories = Array.from({ length: 5_100 }, (_, index) =>
      madeMemory({ number: index, content: `bike ${index}` }),
    )
    for (const memory of memories) terms(memory, [])
    expect(memories.map((memory) => terms(memory, []).join(' '))).toEqual(memories.map(({ content }) => content))
  })
})
