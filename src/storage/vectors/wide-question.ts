/** A question in whole numbers of 16 bits: much finer than the vectors' 8, at no cost to the kernel. */
export interface WideQuestion {
  numbers: Int16Array
  /** One divided by the length of what the numbers say. Zero for a question of zeros. */
  inverseLength: number
}

export function toWideQuestion(vector: Float32Array): WideQuestion {
  const furthest = vector.reduce((most, value) => Math.max(most, Math.abs(value)), 0)
  // However the signs fall, the sum of all products with signed bytes fits 32 bits.
  const largest = Math.min(32_767, Math.floor((2 ** 31 - 1) / (128 * vector.length)))
  const numbers = Int16Array.from(vector, (value) => (furthest === 0 ? 0 : Math.round((value / furthest) * largest)))
  return { numbers, inverseLength: inverseLength(numbers) }
}

/** The cosine of the question with one vector; zero where either is all zeros. */
export function cosine(question: WideQuestion, vector: Int8Array): number {
  const { numbers } = question
  let sum = 0
  for (let index = 0; index < vector.length; index += 1) {
    sum += (vector[index] as number) * (numbers[index] as number)
  }
  return sum * inverseLength(vector) * question.inverseLength
}

export function inverseLength(numbers: Int8Array | Int16Array): number {
  let sum = 0
  for (let index = 0; index < numbers.length; index += 1) sum += (numbers[index] as number) ** 2
  return sum === 0 ? 0 : 1 / Math.sqrt(sum)
}
