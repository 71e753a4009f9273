import fc from 'fast-check'
import { expect, it } from 'vitest'
import { randomVector } from '../../../test/contract/vector-search-support.ts'
import { createPlainKernel, createWasmKernel } from './kernels.ts'
import { cosine, createVectorSet, toWideQuestion } from './stored-vectors.ts'

const createKernels = [() => createWasmKernel() ?? createPlainKernel(), createPlainKernel]

const cases = fc.integer({ min: 1, max: 70 }).chain((dimensions) => {
  const size = { minLength: dimensions, maxLength: dimensions }
  return fc.record({
    dimensions: fc.constant(dimensions),
    vectors: fc.array(fc.int8Array(size), { maxLength: 40 }),
    question: fc.float32Array({ ...size, noNaN: true, min: -1, max: 1 }),
    removed: fc.array(fc.nat(39), { maxLength: 10 }),
  })
})

it('MEM-3 ranks whole vectors of any dimensions by cosine, without removed ones', () => {
  fc.assert(
    fc.property(cases, ({ dimensions, vectors, question: asked, removed }) => {
      const question = toWideQuestion(asked)
      for (const createKernel of createKernels) {
        const set = createVectorSet({ dimensions, exactLimit: 100, createKernel })
        for (const [index, vector] of vectors.entries()) set.add({ place: index + 100, number: index, vector })
        const gone = set.nearest(question, 100).filter(({ number }) => removed.includes(number))
        set.remove(gone)
        const expected = vectors
          .map((vector, number) => ({ number, place: number + 100, score: cosine(question, vector) }))
          .filter(({ number }) => !removed.includes(number))
        const found = set.nearest(question, 100)
        expect(found.map(({ score }) => score)).toEqual(
          expected.map(({ score }) => expect.closeTo(score, 9)).sort((a, b) => b.sample - a.sample),
        )
        for (const { number, place, score } of found) {
          const own = expected.find((entry) => entry.number === number)
          expect([place, score]).toEqual([own?.place, expect.closeTo(own?.score ?? 2, 9)])
        }
      }
    }),
  )
})

it('MEM-3 ranks coarse vectors identically in both kernels, without removed ones', () => {
  fc.assert(
    fc.property(cases, fc.nat(20), ({ dimensions, vectors, question: asked, removed }, exactLimit) => {
      const question = toWideQuestion(asked)
      const answers = createKernels.map((createKernel) => {
        const set = createVectorSet({ dimensions, exactLimit, createKernel })
        for (const [index, vector] of vectors.entries()) set.add({ place: index, number: index, vector })
        expect(set.isExact).toBe(vectors.length <= exactLimit)
        set.remove(set.nearest(question, 100).filter(({ number }) => removed.includes(number)))
        return set.nearest(question, 100)
      })
      expect(answers[0]).toEqual(answers[1])
      const left = vectors.map((_, number) => number).filter((number) => !removed.includes(number))
      expect(answers[0]?.map(({ number }) => number).toSorted((a, b) => a - b)).toEqual(left)
    }),
  )
})

it('MEM-3 finds nearly all of the best by coarse vectors when dimensions differ much', () => {
  const [dimensions, count] = [64, 4000]
  const vectors = Array.from({ length: count }, (_, seed) =>
    // Each dimension has its own mean and spread, as in real models.
    Int8Array.from(
      randomVector(seed + 1, dimensions),
      (value, index) => (index % 7) * 10 - 30 + value * ((index % 5) * 8 + 4),
    ),
  )
  const set = createVectorSet({ dimensions, exactLimit: 1000, createKernel: createPlainKernel })
  for (const [number, vector] of vectors.entries()) set.add({ place: number, number, vector })
  expect(set.isExact).toBe(false)
  let found = 0
  for (let seed = 1; seed <= 5; seed += 1) {
    const question = toWideQuestion(Float32Array.from(vectors[seed * 500] ?? [], (value) => value + seed))
    const scores = vectors.map((vector, number) => ({ number, score: cosine(question, vector) }))
    const best = scores.toSorted((a, b) => b.score - a.score).slice(0, 20)
    const nearest = new Set(set.nearest(question, 200).map(({ number }) => number))
    found += best.filter(({ number }) => nearest.has(number)).length
  }
  expect(found).toBeGreaterThanOrEqual(90)
})
