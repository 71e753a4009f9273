import { createBestSlots } from '../../../storage/vectors/best-slots.ts'
import { createExactVectors } from '../../../storage/vectors/exact-vectors.ts'
import { createPlainKernel } from '../../../storage/vectors/plain-kernel.ts'
import { createWasmKernel } from '../../../storage/vectors/wasm-kernel.ts'
import { cosine, toWideQuestion } from '../../../storage/vectors/wide-question.ts'

/** Vectors of one length by the ids of what they stand for, a byte for each dimension: ten thousand take four megabytes. */
export interface VectorTable {
  readonly dimensions: number
  put(id: string, vector: Int8Array): void
  delete(id: string): void
  get(id: string): Int8Array | undefined
  /** Compares them all. */
  compare(question: Float32Array): {
    /** By their cosines, best first. */
    nearest(limit: number): { id: string; cosine: number }[]
    cosineOf(id: string): number | undefined
  }
}

export function createVectorTable(dimensions: number): VectorTable {
  const vectors = createExactVectors({ kernel: createWasmKernel() ?? createPlainKernel(), dimensions })
  const ids: string[] = []
  const slots = new Map<string, number>()

  const table: VectorTable = {
    dimensions,
    put(id, vector) {
      if (vector.length !== dimensions) throw new RangeError('This vector is of another length')
      table.delete(id)
      vectors.append(vector)
      slots.set(id, ids.length)
      ids.push(id)
    },
    delete(id) {
      const slot = slots.get(id)
      if (slot === undefined) return
      vectors.remove(slot)
      slots.delete(id)
      const last = ids.pop()
      if (last === undefined || last === id) return
      ids[slot] = last
      slots.set(last, slot)
    },
    get(id) {
      const slot = slots.get(id)
      return slot === undefined ? undefined : vectors.vector(slot)
    },
    compare(question) {
      const wide = toWideQuestion(question)
      return {
        nearest(limit) {
          if (wide.inverseLength === 0) return []
          const best = createBestSlots(limit, (slot) => -slot)
          vectors.scan(wide, best)
          return best.take().map(({ slot, score }) => ({ id: ids[slot] ?? '', cosine: score * wide.inverseLength }))
        },
        cosineOf(id) {
          const vector = table.get(id)
          return vector && cosine(wide, vector)
        },
      }
    },
  }
  return table
}
