import type { VectorKernel } from './vector-kernel.ts'

/** The kernel for machines without WebAssembly: slower, with the same results. */
export function createPlainKernel(): VectorKernel {
  let buffer = new ArrayBuffer(0)
  return {
    get buffer() {
      return buffer
    },
    grow(bytes) {
      if (bytes > buffer.byteLength) buffer = buffer.transfer(bytes)
    },
    multiply({ question, vectors, count, stride, results }) {
      const factors = new Int16Array(buffer, question, stride)
      const numbers = new Int8Array(buffer, vectors, count * stride)
      const sums = new Int32Array(buffer, results, count)
      for (let vector = 0; vector < count; vector += 1) {
        const from = vector * stride
        let sum = 0
        for (let index = 0; index < stride; index += 1)
          sum += (factors[index] as number) * (numbers[from + index] as number)
        sums[vector] = sum
      }
    },
    lookUp({ tables, vectors, groups, bytes, results }) {
      const entries = new Uint8Array(buffer, tables, bytes * 32)
      const codes = new Uint8Array(buffer, vectors, groups * bytes * 16)
      const sums = new Uint16Array(buffer, results, groups * 16)
      for (let vector = 0; vector < groups * 16; vector += 1) {
        const from = (vector >> 4) * bytes * 16 + (vector & 15)
        let sum = 0
        for (let index = 0; index < bytes; index += 1) {
          const code = codes[from + index * 16] ?? 0
          sum += (entries[index * 32 + (code & 15)] ?? 0) + (entries[index * 32 + 16 + (code >> 4)] ?? 0)
        }
        sums[vector] = sum
      }
    },
  }
}
