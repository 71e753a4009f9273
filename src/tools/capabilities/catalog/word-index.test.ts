import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createWordIndex, type WordIndex } from './word-index.ts'

const part = (text: string) => [{ text, weight: 1 }]
const best = (index: WordIndex, question: string) =>
  index
    .compare(question)
    .best(10)
    .map(({ id }) => id)

it('CAP-1 ranks by how much of the question is said, rare words before common ones', () => {
  const index = createWordIndex()
  for (const place of ['Kiel', 'Rome', 'Oslo']) index.put(place, part(`weather report of ${place}`))
  index.put('tides', part('tides_at_sea'))
  expect(best(index, 'weather in Oslo')[0]).toBe('Oslo')
  expect(best(index, 'when are the tides')).toEqual(['tides'])
  expect(best(index, 'reported')).toHaveLength(3)
  expect(best(index, 'nothing known')).toEqual([])
  expect(index.compare('weather in Oslo').best(1)).toHaveLength(1)
  const score = index.compare('tides sea').scoreOf('tides')
  expect(score).toBeGreaterThan(0.4)
  expect(score).toBeLessThanOrEqual(1)
})

it('CAP-1 holds what was put last, and nothing that was deleted, however often both happen', () => {
  const words = fc.constantFrom('rain', 'sun', 'wind', 'snow')
  const steps = fc.array(fc.tuple(fc.nat(5), fc.option(fc.array(words, { minLength: 1, maxLength: 3 }))), {
    maxLength: 200,
  })
  fc.assert(
    fc.property(steps, (taken) => {
      const index = createWordIndex()
      const expected = new Map<string, readonly string[]>()
      for (const [id, text] of taken) {
        if (text === null) {
          index.delete(`${id}`)
          expected.delete(`${id}`)
        } else {
          index.put(`${id}`, part(text.join(' ')))
          expected.set(`${id}`, text)
        }
      }
      const holders = [...expected].filter(([, text]) => text.includes('rain')).map(([id]) => id)
      const compared = index.compare('rain')
      const found = compared.best(10)
      expect(found.map(({ id }) => id).sort()).toEqual(holders.sort())
      expect(found.every(({ id, score }) => score > 0 && score <= 1 && compared.scoreOf(id) === score)).toBe(true)
      expect(compared.scoreOf('none')).toBe(0)
    }),
  )
})
