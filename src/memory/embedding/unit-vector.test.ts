import fc from 'fast-check'
import { expect, it } from 'vitest'
import { toUnitVector } from './embedders.ts'

it('MEM-15 every vector has length one, whatever its numbers; only zeros stay zeros', () => {
  expect([...toUnitVector([3, 4])]).toEqual([Math.fround(0.6), Math.fround(0.8)])
  expect([...toUnitVector([0, 0])]).toEqual([0, 0])
  fc.assert(
    fc.property(fc.array(fc.double({ noNaN: true, noDefaultInfinity: true }), { minLength: 1 }), (numbers) => {
      const vector = toUnitVector(numbers)
      const length = Math.hypot(...vector)
      expect(length).toBeCloseTo(numbers.every((number) => number === 0) ? 0 : 1, 5)
    }),
  )
})
