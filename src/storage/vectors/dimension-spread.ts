import { inverseLength } from './wide-question.ts'

/** What is usual in each dimension, for vectors of length one. */
export interface DimensionSpread {
  means: Float64Array
  deviations: Float64Array
}

/** Every vector is passed over twice. Without any of them the dimensions are taken for equal. */
export function measureSpread(vectors: () => Iterable<Int8Array>, dimensions: number): DimensionSpread {
  const means = new Float64Array(dimensions)
  const squares = new Float64Array(dimensions)
  let count = 0
  for (const vector of vectors()) {
    count += 1
    const scale = inverseLength(vector)
    for (let index = 0; index < dimensions; index += 1) {
      means[index] = (means[index] as number) + (vector[index] as number) * scale
    }
  }
  for (let index = 0; index < dimensions; index += 1) means[index] = (means[index] as number) / Math.max(count, 1)
  for (const vector of vectors()) {
    const scale = inverseLength(vector)
    for (let index = 0; index < dimensions; index += 1) {
      const distance = (vector[index] as number) * scale - (means[index] as number)
      squares[index] = (squares[index] as number) + distance * distance
    }
  }
  // As if one more vector had been seen whose dimensions are all alike: so that no deviation is zero.
  const deviations = squares.map((square) => Math.sqrt((square + 1 / dimensions) / (count + 1)))
  return { means, deviations }
}
