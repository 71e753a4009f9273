/**
 * A memory that only grows, and what can be computed over it. All addresses are bytes from its beginning, and multiples
 * of 16.
 */
export interface VectorKernel {
  /** The whole memory. It is another one after `grow`. */
  readonly buffer: ArrayBuffer
  /** To at least so many bytes. Throws a `RangeError` where there is no more memory. */
  grow(bytes: number): void

  /**
   * The products of a question with vectors that follow each other, `stride` bytes apart, a multiple of 16.
   *
   * A vector is `stride` signed bytes, the question `stride` signed numbers of 16 bits, and each result an integer of 32
   * bits, in which the sum must fit.
   */
  multiply(scan: { question: number; vectors: number; count: number; stride: number; results: number }): void

  /**
   * For vectors of `bytes` bytes, the sum of what the tables say of each half of each byte: table `2n` of the lower half
   * of byte `n`, table `2n + 1` of the upper half. A table is 16 bytes of at most 127. A result is an integer of 16 bits,
   * in which the sum must fit.
   *
   * Vectors come in groups of 16: first the first byte of each of them, then the second of each, and so on.
   */
  lookUp(scan: { tables: number; vectors: number; groups: number; bytes: number; results: number }): void
}
