import { toUnitVector } from '../../../memory/embedding/unit-vector.ts'
import { toVectorBytes } from '../../../storage/vector-bytes.ts'

/** Where a capability stands among the meanings, in whatever form the vectors have. */
export interface CapabilityVectors<Vector> {
  /** By what it says of itself: what does the same is near. */
  said: Vector
  /**
   * By that and by each way to ask for it, the middle of them: whoever asks is near. Measured with bench/capability-search
   * against the closest of them and against one vector of all texts together: the middle finds more, in a fifth of the memory.
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

/** Without a copy. */
export function unpackVectors(bytes: Uint8Array): CapabilityVectors<Uint8Array> {
  const length = bytes.length / 2
  return { said: bytes.subarray(0, length), whole: bytes.subarray(length) }
}
