import { toUnitVector } from '../memory/embedding/embedders.ts'
import { localEmbeddingModel } from '../memory/embedding/local-embedder.ts'
import { toVectorBytes } from '../storage/database.ts'
import { createPlainKernel, createWasmKernel } from '../storage/vectors/kernels.ts'
import { cosine, createBestSlots, createExactVectors, toWideQuestion } from '../storage/vectors/stored-vectors.ts'

export interface CapabilityVectors<Vector> {
  /** By what it says of itself: what does the same is near. */
  said: Vector
  /**
   * The mean of its description and of each example request, so that a request is near. Measured with bench/capability-
   * search against the closest of them and against one vector of all texts: the mean finds more, in a fifth of the
   * memory.
   */
  whole: Vector
}

/** The first for what it says of itself, the others for how it is asked for. */
export function toCapabilityVectors(vectors: readonly Float32Array[]): CapabilityVectors<Float32Array> {
  const [said = new Float32Array()] = vectors
  const sums = said.map((_, place) => vectors.reduce((sum, vector) => sum + (vector[place] ?? 0), 0))
  return { said, whole: toUnitVector(sums) }
}

/** As `capability_vectors` holds them: one after the other, both of the same length. */
export function packVectors({ said, whole }: CapabilityVectors<Float32Array>): Uint8Array {
  return Buffer.concat([toVectorBytes(said), toVectorBytes(whole)])
}

export function unpackVectors(bytes: Uint8Array): CapabilityVectors<Uint8Array> {
  const length = bytes.length / 2
  return { said: bytes.subarray(0, length), whole: bytes.subarray(length) }
}

/**
 * From which cosine on two capabilities are taken to do the same. Models differ in how near they put texts that have
 * little in common. Measured with the local one: 15 wishes for what is there already, in other words, lie at 0.79 to 0.90
 * from it, 11 of them above 0.82; of 200 capabilities no two that differ do, but for an address to coordinates and back.
 */
const usual = { asked: 0.8, written: 0.85 }
const ofModel: Readonly<Record<string, typeof usual>> = { [localEmbeddingModel]: { asked: 0.82, written: 0.9 } }

/**
 * `asked`: a request against existing capabilities, which the caller can overrule. `written`: one capability against
 * another.
 */
export function duplicateFrom(model: string, kind: 'asked' | 'written'): number {
  return (ofModel[model] ?? usual)[kind]
}

export type VectorTable = ReturnType<typeof createVectorTable>

/** Vectors of one length by the ids of what they stand for, a byte for each dimension: ten thousand take four megabytes. */
export function createVectorTable(dimensions: number) {
  const vectors = createExactVectors({ kernel: createWasmKernel() ?? createPlainKernel(), dimensions })
  const ids: string[] = []
  const slots = new Map<string, number>()

  const table = {
    dimensions,
    put(id: string, vector: Int8Array): void {
      if (vector.length !== dimensions) throw new RangeError('This vector is of another length')
      table.delete(id)
      vectors.append(vector)
      slots.set(id, ids.length)
      ids.push(id)
    },
    delete(id: string): void {
      const slot = slots.get(id)
      if (slot === undefined) return
      vectors.remove(slot)
      slots.delete(id)
      const last = ids.pop()
      if (last === undefined || last === id) return
      ids[slot] = last
      slots.set(last, slot)
    },
    get(id: string): Int8Array | undefined {
      const slot = slots.get(id)
      return slot === undefined ? undefined : vectors.vector(slot)
    },
    compare(question: Float32Array) {
      const wide = toWideQuestion(question)
      return {
        nearest(limit: number) {
          if (wide.inverseLength === 0) return []
          const best = createBestSlots(limit, (slot) => -slot)
          vectors.scan(wide, best)
          return best.take().map(({ slot, score }) => ({ id: ids[slot] ?? '', cosine: score * wide.inverseLength }))
        },
        cosineOf(id: string): number | undefined {
          const vector = table.get(id)
          return vector && cosine(wide, vector)
        },
      }
    },
  }
  return table
}
