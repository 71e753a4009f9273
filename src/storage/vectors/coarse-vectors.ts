import type { DimensionSpread } from './dimension-spread.ts'
import { type VectorForm, vectorsPerBlock } from './vector-form.ts'
import type { VectorKernel } from './vector-kernel.ts'
import { inverseLength, type WideQuestion } from './wide-question.ts'

// The best four levels for numbers that are spread like a bell, and where one ends and the next begins.
const levels = [-1.51, -0.453, 0.453, 1.51]
const border = 0.982

/**
 * Two bits of each dimension: on which side of the mean it lies, and whether far from it. A quarter of the memory, and
 * what it offers is near the truth.
 *
 * Measured with sentences of conversations, embedded by bge-small, and 300,000 mixtures of them: the 500 best here held
 * all of the true best 50 and 99.3% of the true best 150. With one bit, above or below zero, it was 98.9% and 92.5%; and
 * by counting equal bits 93.0% and 78.7%.
 */
export function createCoarseVectors(options: {
  kernel: VectorKernel
  dimensions: number
  spread: DimensionSpread
}): VectorForm {
  const { kernel, dimensions, spread } = options
  const bytes = Math.ceil(dimensions / 4)
  const groupBytes = bytes * 16
  const results = bytes * 32
  const vectors = results + vectorsPerBlock * 2
  const borders = bordersOf(spread)
  let count = 0

  /** Byte `n` of the vector is at sixteen times `n` from here. */
  const addressOf = (slot: number) => vectors + (slot >> 4) * groupBytes + (slot & 15)

  return {
    get bytes() {
      return kernel.buffer.byteLength
    },
    append(vector) {
      if (addressOf(count) + groupBytes > kernel.buffer.byteLength) {
        kernel.grow(addressOf(Math.ceil((count + 1024) * 1.125)) + groupBytes)
      }
      writeLevels(vector, borders, new Uint8Array(kernel.buffer, addressOf(count)))
      count += 1
    },
    remove(slot) {
      count -= 1
      const hole = new Uint8Array(kernel.buffer, addressOf(slot))
      const last = new Uint8Array(kernel.buffer, addressOf(count))
      for (let at = 0; at < groupBytes; at += 16) hole[at] = last[at] ?? 0
    },
    scan(question, best) {
      if (count === 0) return
      new Uint8Array(kernel.buffer, 0, results).set(tablesOf(question, spread, bytes))
      let least = Number.NEGATIVE_INFINITY
      for (let from = 0; from < count; from += vectorsPerBlock) {
        const block = Math.min(vectorsPerBlock, count - from)
        kernel.lookUp({ tables: 0, vectors: addressOf(from), groups: Math.ceil(block / 16), bytes, results })
        const sums = new Uint16Array(kernel.buffer, results, block)
        for (let index = 0; index < block; index += 1) {
          const sum = sums[index] as number
          if (sum >= least) least = best.offer(from + index, sum)
        }
      }
    },
  }
}

/** What a vector of length one is in whole numbers. */
const one = 2 ** 20

/** Three for each dimension, in whole numbers. */
function bordersOf({ means, deviations }: DimensionSpread): Int32Array {
  return Int32Array.from({ length: means.length * 3 }, (_border, at) => {
    const dimension = Math.floor(at / 3)
    return one * ((means[dimension] ?? 0) + ((at % 3) - 1) * border * (deviations[dimension] ?? 0))
  })
}

/** Four dimensions to a byte, a byte in every sixteen. */
function writeLevels(vector: Int8Array, borders: Int32Array, memory: Uint8Array): void {
  const scale = Math.round(one * inverseLength(vector))
  for (let from = 0; from < vector.length; from += 4) {
    let code = 0
    for (let index = Math.min(from + 3, vector.length - 1); index >= from; index -= 1) {
      const number = Math.imul(vector[index] as number, scale)
      const at = index * 3
      // One for each border that the number lies above. Without a branch: nobody could guess which way it goes.
      const level =
        (((borders[at] as number) - number) >>> 31) +
        (((borders[at + 1] as number) - number) >>> 31) +
        (((borders[at + 2] as number) - number) >>> 31)
      code = (code << 2) | level
    }
    memory[from * 4] = code
  }
}

/** For each two dimensions and all sixteen ways that their levels can be: what that adds to the product. */
function tablesOf({ numbers }: WideQuestion, { means, deviations }: DimensionSpread, bytes: number): Uint8Array {
  const product = (dimension: number, level: number) =>
    (numbers[dimension] ?? 0) * ((means[dimension] ?? 0) + (levels[level] ?? 0) * (deviations[dimension] ?? 0))
  const tables = Array.from({ length: bytes * 2 }, (_table, pair) => {
    const sums = Array.from({ length: 16 }, (_sum, at) => product(pair * 2, at & 3) + product(pair * 2 + 1, at >> 2))
    const least = Math.min(...sums)
    return sums.map((sum) => sum - least)
  }).flat()
  const most = tables.reduce((a, b) => Math.max(a, b), Number.MIN_VALUE)
  const largest = Math.min(127, Math.floor(65_535 / (bytes * 2)))
  return Uint8Array.from(tables, (sum) => Math.round((sum / most) * largest))
}
