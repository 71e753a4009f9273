import fc from 'fast-check'
import { expect, it } from 'vitest'
import { numberLines, splitLines } from './plain-notes.ts'

it('MEM-14 finds the lines of any bytes, however they are split', async () => {
  await fc.assert(
    fc.asyncProperty(fc.string({ unit: 'grapheme' }), fc.integer({ min: 1, max: 7 }), async (text, size) => {
      const bytes = new TextEncoder().encode(`a\n${text}\nb`)
      const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
        bytes.subarray(index * size, (index + 1) * size),
      )
      expect(await Array.fromAsync(splitLines(chunks))).toEqual(`a\n${text}\nb`.split('\n'))
    }),
  )
})

it('MEM-14 limits the length of a line', async () => {
  const chunk = new Uint8Array(1_000_000).fill(120)
  const lines = await Array.fromAsync(splitLines([...Array.from({ length: 20 }, () => chunk), Buffer.from('\nnext')]))
  expect(lines.map((line) => line.length)).toEqual([16_000_000, 4])
})

it('MEM-14 removes byte order marks and carriage returns', async () => {
  expect(await Array.fromAsync(numberLines(['\ufeffa\r', 'b\r\r', '\ufeff']))).toEqual([
    { line: 1, text: 'a' },
    { line: 2, text: 'b\r' },
    { line: 3, text: '\ufeff' },
  ])
})
