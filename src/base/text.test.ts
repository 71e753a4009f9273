import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { hostileStrings, unsafeIn } from '../../test/security/hostile-strings.ts'
import { anyText } from '../../test/support/any-text.ts'
import { toDisplayText } from './text.ts'

describe('toDisplayText', () => {
  it('SEC-10 removes control and disguise characters, and keeps the surrounding text', () => {
    for (const { mark, text } of hostileStrings) {
      const shown = toDisplayText(text)
      expect(unsafeIn(shown), JSON.stringify(text.slice(0, 60))).toEqual([])
      expect(shown.startsWith(mark)).toBe(true)
    }
  })

  it('SEC-10 is idempotent', () => {
    const pieces = fc.oneof(anyText, fc.constantFrom(...hostileStrings.map(({ text }) => text.slice(5, 60))))
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 6 }), (texts) => {
        const shown = toDisplayText(texts.join(''))
        expect(unsafeIn(shown)).toEqual([])
        expect(toDisplayText(shown)).toBe(shown)
      }),
    )
  })

  it('SEC-10 leaves ordinary text of any script unchanged', () => {
    for (const text of [
      'Привет, мир',
      'שָׁלוֹם',
      'हिन्दी',
      'ภาษาไทย',
      'e\u0301\u0323',
      '👩‍👩‍👧 👍🏽 🇲🇹',
      'a\tb\nc',
      'می‌خواهم',
    ]) {
      expect(toDisplayText(text)).toBe(text)
    }
  })

  it('SEC-10 a sequence removes only text on its line, and without an end only its beginning', () => {
    expect(toDisplayText('a\u001b]0;title\u0007b')).toBe('ab')
    expect(toDisplayText('to: \u001b]evil.example')).toBe('to: evil.example')
    expect(toDisplayText('# \u001bPstart\nsteal()\n# \u001b\\end')).toBe('# start\nsteal()\n# end')
    expect(toDisplayText('# \u001b]0;\nsteal()\n# \u0007')).toBe('# 0;\nsteal()\n# ')
  })
})
