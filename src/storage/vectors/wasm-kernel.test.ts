import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createPlainKernel, createWasmKernel, type VectorKernel } from './kernels.ts'

const results = 4096
const vectors = 8192
const kernels = () => [requireWasm(), createPlainKernel()] as const

function requireWasm(): VectorKernel {
  const kernel = createWasmKernel()
  if (!kernel) throw new Error('This machine runs no WebAssembly with 128-bit vectors')
  return kernel
}

it('MEM-3 WebAssembly and JavaScript compute the same correct products', () => {
  const scans = fc.integer({ min: 1, max: 6 }).chain((blocks) =>
    fc.record({
      stride: fc.constant(blocks * 16),
      question: fc.int16Array({ minLength: blocks * 16, maxLength: blocks * 16 }),
      stored: fc.array(fc.int8Array({ minLength: blocks * 16, maxLength: blocks * 16 }), { maxLength: 20 }),
    }),
  )
  fc.assert(
    fc.property(scans, ({ stride, question, stored }) => {
      const expected = stored.map((vector) =>
        vector.reduce((sum, value, index) => sum + value * (question[index] ?? 0), 0),
      )
      for (const kernel of kernels()) {
        kernel.grow(vectors + stored.length * stride)
        new Int16Array(kernel.buffer, 0, stride).set(question)
        for (const [index, vector] of stored.entries()) {
          new Int8Array(kernel.buffer, vectors + index * stride, stride).set(vector)
        }
        kernel.multiply({ question: 0, vectors, count: stored.length, stride, results })
        expect([...new Int32Array(kernel.buffer, results, stored.length)]).toEqual(expected)
      }
    }),
  )
})

it('MEM-3 WebAssembly and JavaScript compute the same correct table sums', () => {
  const scans = fc.record({ bytes: fc.integer({ min: 1, max: 50 }), groups: fc.nat(3), seed: fc.nat() })
  fc.assert(
    fc.property(scans, ({ bytes, groups, seed }) => {
      const byteAt = (index: number) => (Math.imul(seed + index, 0x9e3779b1) >>> 24) & 0xff
      const tables = Uint8Array.from({ length: bytes * 32 }, (_, index) => byteAt(index) & 127)
      const stored = Uint8Array.from({ length: groups * bytes * 16 }, (_, index) => byteAt(index + 7777))
      const expected = Array.from({ length: groups * 16 }, (_, vector) =>
        Array.from({ length: bytes }, (_byte, index) => {
          const byte = stored[Math.floor(vector / 16) * bytes * 16 + index * 16 + (vector % 16)] ?? 0
          return (tables[index * 32 + (byte % 16)] ?? 0) + (tables[index * 32 + 16 + Math.floor(byte / 16)] ?? 0)
        }).reduce((a, b) => a + b, 0),
      )
      for (const kernel of kernels()) {
        kernel.grow(vectors + stored.length)
        new Uint8Array(kernel.buffer, 0, tables.length).set(tables)
        new Uint8Array(kernel.buffer, vectors, stored.length).set(stored)
        kernel.lookUp({ tables: 0, vectors, groups, bytes, results })
        expect([...new Uint16Array(kernel.buffer, results, groups * 16)]).toEqual(expected)
      }
    }),
  )
})

it('MEM-3 growing keeps the content, and growing too far is rejected', () => {
  expect(() => requireWasm().grow(2 ** 33)).toThrow(RangeError)
  for (const kernel of kernels()) {
    kernel.grow(100)
    new Uint8Array(kernel.buffer).set([1, 2, 3])
    kernel.grow(1_000_000)
    expect(kernel.buffer.byteLength).toBeGreaterThanOrEqual(1_000_000)
    expect([...new Uint8Array(kernel.buffer, 0, 4)]).toEqual([1, 2, 3, 0])
    kernel.grow(1)
    expect(kernel.buffer.byteLength).toBeGreaterThanOrEqual(1_000_000)
  }
})
