import fc from 'fast-check'
import { expect, it } from 'vitest'
import { anyText } from '../../../test/support/any-text.ts'
import { squeezeText } from './session-commands.ts'

it.each([
  ['a\n\n\n\nb', 'a\n\nb'],
  ['\n\na  \n', 'a'],
  ['a\nb\na', 'a\nb'],
  ['- tea\r\n- tea\r\n- milk', '- tea\n- milk'],
  ['{\n  x\n}\n{\n  y\n}', '{\n  x\n}\n{\n  y\n}'],
  ['a\n---\nb\n---\nc', 'a\n---\nb\n---\nc'],
  ['', ''],
])('ASSET-5 %j', (text, squeezed) => {
  expect(squeezeText(text)).toBe(squeezed)
})

it('ASSET-5 keeps every line that says something, once', () => {
  const lines = (text: string) =>
    text
      .replaceAll('\r\n', '\n')
      .split('\n')
      .map((line) => line.trim())
  fc.assert(
    fc.property(fc.array(anyText, { maxLength: 8 }), (parts) => {
      const text = parts.join('\n')
      const squeezed = squeezeText(text)
      expect(squeezed.length).toBeLessThanOrEqual(text.length)
      expect(new Set(lines(squeezed).filter(Boolean))).toEqual(new Set(lines(text).filter(Boolean)))
      expect(squeezeText(squeezed)).toBe(squeezed)
    }),
  )
})
