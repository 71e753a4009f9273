import fc from 'fast-check'
import { expect, it } from 'vitest'
import { splitLong } from './split-long.ts'

it('SEC-18 loses nothing, and no paragraph that is parsed is longer than the limit', () => {
  const paragraph = fc.oneof(fc.string({ maxLength: 50 }), fc.constantFrom('_a '.repeat(4_000), 'x'.repeat(8_001)))
  fc.assert(
    fc.property(fc.array(paragraph, { maxLength: 12 }), (paragraphs) => {
      const text = paragraphs.join('\n\n')
      const parts = splitLong(text)
      expect(parts.map((part) => part.text).join('')).toBe(text)
      for (const part of parts.filter(({ isPlain }) => !isPlain)) {
        for (const piece of part.text.split('\n\n')) expect(piece.length).toBeLessThanOrEqual(8_000)
      }
    }),
  )
})
