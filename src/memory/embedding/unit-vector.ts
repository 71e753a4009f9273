/** The same direction, of length one. A copy; zeros stay zeros. */
export function toUnitVector(vector: ArrayLike<number>): Float32Array {
  const numbers = Float64Array.from(vector)
  // First to at most one: the square of a very large or very small number is infinite or nothing.
  const furthest = numbers.reduce((most, number) => Math.max(most, Math.abs(number)), 0)
  const scaled = furthest === 0 ? numbers : numbers.map((number) => number / furthest)
  const length = Math.sqrt(scaled.reduce((sum, number) => sum + number * number, 0))
  return Float32Array.from(scaled, (number) => (length === 0 ? 0 : number / length))
}
