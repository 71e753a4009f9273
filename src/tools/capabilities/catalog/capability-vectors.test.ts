import fc from 'fast-check'
import { expect, it } from 'vitest'
import { fromVectorBytes, toVectorBytes } from '../../../storage/vector-bytes.ts'
import { packVectors, toCapabilityVectors, unpackVectors } from './capability-vectors.ts'

const asked = [
  [0, 1],
  [1, 0],
  [0, 1],
].map((numbers) => Float32Array.from(numbers))

it('CAP-1 puts a capability in the middle of what it says and how it is asked for', () => {
  const { said, whole } = toCapabilityVectors(asked)
  expect([...said]).toEqual([0, 1])
  expect([...whole].map((number) => Math.round(number * 1_000))).toEqual([447, 894])
  const alone = toCapabilityVectors(asked.slice(0, 1))
  expect([...alone.whole]).toEqual([...alone.said])
})

it('CAP-1 has both vectors back as they were kept', () => {
  const numbers = (length: number) =>
    fc.float32Array({ minLength: length, maxLength: length, noNaN: true, min: -1, max: 1 })
  const pair = fc.integer({ min: 1, max: 16 }).chain((length) => fc.tuple(numbers(length), numbers(length)))
  fc.assert(
    fc.property(pair, ([said, whole]) => {
      const kept = unpackVectors(packVectors({ said, whole }))
      expect(fromVectorBytes(kept.said)).toEqual(fromVectorBytes(toVectorBytes(said)))
      expect(fromVectorBytes(kept.whole)).toEqual(fromVectorBytes(toVectorBytes(whole)))
    }),
  )
})
