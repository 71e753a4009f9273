import fc from 'fast-check'
import { expect, it } from 'vitest'
import { fromVectorBytes, toVectorBytes, vectorNumbers } from './database.ts'

const vectors = fc.float32Array({ noNaN: true, min: Math.fround(-1e30), max: Math.fround(1e30), maxLength: 100 })

it('MEM-15 a vector takes one byte per dimension and is restored to within half a step', () => {
  fc.assert(
    fc.property(vectors, (vector) => {
      const bytes = toVectorBytes(vector)
      expect(bytes.length).toBe(4 + vector.length)
      const furthest = vector.reduce((most, value) => Math.max(most, Math.abs(value)), 0)
      // Below the smallest normal float there are too few steps.
      if (furthest < 1e-35) return
      const restored = fromVectorBytes(bytes)
      for (const [index, value] of vector.entries()) {
        expect(Math.abs((restored[index] ?? 0) - value)).toBeLessThanOrEqual((furthest / 127) * 0.5001)
      }
    }),
  )
})

it('MEM-15 the bytes are identical on every machine', () => {
  expect([...toVectorBytes(Float32Array.of(1, -1, 0.5, 0))]).toEqual([0x04, 0x02, 0x01, 0x3c, 127, 129, 64, 0])
  expect([...toVectorBytes(new Float32Array(2))]).toEqual([0, 0, 0, 0, 0, 0])
})

it('MEM-15 rejects invalid vectors', () => {
  expect(() => toVectorBytes(Float32Array.of(Number.NaN))).toThrow(RangeError)
  expect(() => toVectorBytes(Float32Array.of(Number.POSITIVE_INFINITY))).toThrow(RangeError)
  expect(() => vectorNumbers(new Uint8Array(3))).toThrow(RangeError)
})

it('MEM-15 reads a vector from the middle of a buffer', () => {
  const padded = Uint8Array.from([9, ...toVectorBytes(Float32Array.of(0.25, -1)), 9])
  expect([...vectorNumbers(padded.subarray(1, -1))]).toEqual([32, -127])
  expect(fromVectorBytes(padded.subarray(1, -1))[1]).toBeCloseTo(-1, 6)
})
