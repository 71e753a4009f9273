import type { BestSlots } from './best-slots.ts'
import { type VectorForm, vectorsPerBlock } from './vector-form.ts'
import type { VectorKernel } from './vector-kernel.ts'
import { inverseLength, type WideQuestion } from './wide-question.ts'

export interface ExactVectors extends VectorForm {
  vector(slot: number): Int8Array
}

/** Whole vectors. What they offer is exact: the cosine, times the question's length. */
export function createExactVectors({ kernel, dimensions }: { kernel: VectorKernel; dimensions: number }): ExactVectors {
  const stride = Math.ceil(dimensions / 16) * 16
  const results = stride * 2
  const vectors = results + vectorsPerBlock * 4
  const inverseLengths: number[] = []

  const addressOf = (slot: number) => vectors + slot * stride
  const vectorAt = (slot: number) => new Int8Array(kernel.buffer, addressOf(slot), dimensions)

  return {
    get bytes() {
      return kernel.buffer.byteLength + inverseLengths.length * 8
    },
    vector: vectorAt,
    append(vector) {
      const slot = inverseLengths.length
      // A little ahead, because memory comes in pages and may have to be copied.
      if (addressOf(slot + 1) > kernel.buffer.byteLength) kernel.grow(addressOf(Math.ceil((slot + 64) * 1.125)))
      vectorAt(slot).set(vector)
      inverseLengths.push(inverseLength(vector))
    },
    remove(slot) {
      const last = inverseLengths.length - 1
      vectorAt(slot).set(vectorAt(last))
      inverseLengths[slot] = inverseLengths[last] ?? 0
      inverseLengths.pop()
    },
    scan({ numbers }: WideQuestion, best: BestSlots) {
      if (kernel.buffer.byteLength < vectors) return
      const count = inverseLengths.length
      let least = Number.NEGATIVE_INFINITY
      new Int16Array(kernel.buffer, 0, dimensions).set(numbers)
      for (let from = 0; from < count; from += vectorsPerBlock) {
        const block = Math.min(vectorsPerBlock, count - from)
        kernel.multiply({ question: 0, vectors: addressOf(from), count: block, stride, results })
        const sums = new Int32Array(kernel.buffer, results, block)
        for (let index = 0; index < block; index += 1) {
          const score = (sums[index] as number) * (inverseLengths[from + index] as number)
          if (score >= least) least = best.offer(from + index, score)
        }
      }
    },
  }
}
