import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createVectorTable } from './vector-table.ts'

it('CAP-1 finds the nearest, and keeps to what was put last', () => {
  const vector = fc.int8Array({ minLength: 5, maxLength: 5 })
  const steps = fc.array(fc.tuple(fc.nat(6), fc.option(vector)), { maxLength: 60 })
  const question = fc.array(fc.integer({ min: -100, max: 100 }), { minLength: 5, maxLength: 5 })
  fc.assert(
    fc.property(steps, question, (taken, asked) => {
      const table = createVectorTable(5)
      const expected = new Map<string, Int8Array>()
      for (const [id, stored] of taken) {
        if (stored) {
          table.put(`${id}`, stored)
          expected.set(`${id}`, stored)
        } else {
          table.delete(`${id}`)
          expected.delete(`${id}`)
        }
      }
      const compared = table.compare(Float32Array.from(asked))
      const found = compared.nearest(3)
      if (asked.every((value) => value === 0)) return expect(found).toEqual([])
      const cosines = [...expected.values()].map((stored) => cosine(asked, stored)).sort((a, b) => b - a)
      expect(found).toHaveLength(Math.min(3, expected.size))
      for (const [index, { id, cosine: told }] of found.entries()) {
        expect(told).toBeCloseTo(cosines[index] ?? 0, 3)
        expect(compared.cosineOf(id)).toBeCloseTo(told, 5)
        expect(table.get(id)).toEqual(expected.get(id))
      }
      expect(compared.cosineOf('none')).toBeUndefined()
    }),
  )
})

function cosine(a: readonly number[], b: Int8Array): number {
  const length = (numbers: ArrayLike<number>) => Math.hypot(...Array.from(numbers))
  const product = a.reduce((sum, value, index) => sum + value * (b[index] ?? 0), 0)
  return product === 0 ? 0 : product / (length(a) * length(b))
}
