import { contentWords } from '../../src/memory/words.ts'

export const hashModel = 'bench/hash-projection'
export const hashDimensions = 384
const dimensionsPerWord = 64

/**
 * A stand-in for an embedding that takes microseconds: each word pushes some dimensions up or down, the same ones every
 * time. Texts that share words are near each other; of meaning it knows nothing.
 */
export function hashVector(text: string): Float32Array {
  const vector = new Float32Array(hashDimensions)
  for (const word of contentWords(text)) {
    let state = hashOf(word)
    for (let turn = 0; turn < dimensionsPerWord; turn += 1) {
      state = Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x6d2b79f5
      const mixed = (state ^ (state >>> 13)) >>> 0
      const dimension = mixed % hashDimensions
      vector[dimension] = (vector[dimension] ?? 0) + (mixed & 0x40000000 ? 1 : -1)
    }
  }
  return vector
}

function hashOf(word: string): number {
  let hash = 0x811c9dc5
  for (let index = 0; index < word.length; index += 1) hash = Math.imul(hash ^ word.charCodeAt(index), 0x01000193)
  return hash
}
