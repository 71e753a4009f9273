const scaleBytes = 4
const largest = 127

/**
 * A vector as `memory_vectors` holds it: a little-endian 32-bit float, then one signed byte for each dimension. A byte
 * times that float is the number again, off by at most half of it.
 */
export function toVectorBytes(vector: Float32Array): Uint8Array {
  let furthest = 0
  for (const value of vector) {
    if (!Number.isFinite(value)) throw new RangeError('A vector holds finite numbers only')
    furthest = Math.max(furthest, Math.abs(value))
  }
  // As the reader will see it: a float of four bytes. Zero for a vector of zeros, or of numbers too small to tell apart.
  const scale = Math.fround(furthest / largest)
  const bytes = new Uint8Array(scaleBytes + vector.length)
  new DataView(bytes.buffer).setFloat32(0, scale, true)
  if (scale === 0) return bytes
  const numbers = new Int8Array(bytes.buffer, scaleBytes)
  for (let index = 0; index < vector.length; index += 1) {
    const steps = Math.round((vector[index] ?? 0) / scale)
    numbers[index] = Math.max(-largest, Math.min(largest, steps))
  }
  return bytes
}

export function fromVectorBytes(bytes: Uint8Array): Float32Array {
  const scale = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getFloat32(0, true)
  return Float32Array.from(vectorNumbers(bytes), (steps) => steps * scale)
}

/** The signed bytes alone, without a copy: all that the angle between two vectors depends on. */
export function vectorNumbers(bytes: Uint8Array): Int8Array {
  if (bytes.length < scaleBytes) throw new RangeError('These bytes are too few for a vector')
  return new Int8Array(bytes.buffer, bytes.byteOffset + scaleBytes, bytes.length - scaleBytes)
}
