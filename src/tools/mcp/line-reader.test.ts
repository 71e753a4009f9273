import fastCheck from 'fast-check'
import { expect, it } from 'vitest'
import { createLineReader } from './connect-server.ts'

it('TOOL-12 reads the same lines however they are split', () => {
  const text = fastCheck.array(fastCheck.constantFrom('a', 'ü', '\n', '😀', '{"x":1}', '\r'), { maxLength: 60 })
  const cuts = fastCheck.array(fastCheck.nat({ max: 200 }), { maxLength: 20 })
  fastCheck.assert(
    fastCheck.property(text, cuts, (parts, places) => {
      const bytes = Buffer.from(parts.join(''))
      const reader = createLineReader()
      const edges = [0, ...places.filter((place) => place < bytes.length).sort((a, b) => a - b), bytes.length]
      const lines = edges.flatMap((edge, index) => reader.take(bytes.subarray(edge, edges[index + 1] ?? edge)))
      const whole = bytes.toString().split('\n')
      expect(lines).toEqual(whole.slice(0, -1))
      expect(reader.waiting()).toBe(Buffer.byteLength(whole.at(-1) ?? ''))
    }),
  )
})
