import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createRedactor } from './redactor.ts'

const secret = fc.string({ unit: 'grapheme', minLength: 8, maxLength: 60 }).filter((text) => text.trim().length >= 8)
const around = fc.string({ unit: 'grapheme', maxLength: 20 })

const encodings: Record<string, (secret: string) => string> = {
  plain: (text) => text,
  base64: (text) => Buffer.from(text).toString('base64'),
  base64url: (text) => Buffer.from(text).toString('base64url'),
  hex: (text) => Buffer.from(text).toString('hex'),
  'upper hex': (text) => Buffer.from(text).toString('hex').toUpperCase(),
  url: (text) => encodeURIComponent(text),
  json: (text) => JSON.stringify(text).slice(1, -1),
  'json in json': (text) => JSON.stringify(JSON.stringify(text)).slice(3, -3),
}

describe('redactor', () => {
  for (const [name, encode] of Object.entries(encodings)) {
    it(`SEC-13 takes a secret out in its ${name} form, wherever it stands`, () => {
      fc.assert(
        fc.property(secret, around, around, (word, before, after) => {
          const redactor = createRedactor([word])
          const encoded = encode(word)
          expect(redactor.redact(`${before}${encoded}${after}`)).not.toContain(encoded)
          expect(redactor.redact(encoded)).toBe('[redacted]')
        }),
        { numRuns: 300 },
      )
    })
  }

  it('SEC-13 finds a secret that was encoded together with what stood around it', () => {
    fc.assert(
      fc.property(
        fc.stringMatching(/^[A-Za-z0-9_-]{16,60}$/),
        fc.string({ maxLength: 8 }),
        around,
        (word, user, tail) => {
          const encoded = Buffer.from(`${user}:${word}${tail}`).toString('base64')
          const cleaned = createRedactor([word]).redact(encoded)
          expect(cleaned).toContain('[redacted]')
          const rest = cleaned.split('[redacted]').map((part) => Buffer.from(part, 'base64').toString('latin1'))
          expect(rest.join(' ')).not.toContain(word.slice(2, -2))
        },
      ),
      { numRuns: 500 },
    )
  })

  it('SEC-13 leaves no end of a secret that overlaps another', () => {
    const redactor = createRedactor(['abcdefghij', 'ghijklmnop', 'abcdefgh'])
    expect(redactor.redact('x abcdefghijklmnop y abcdefgh z')).toBe('x [redacted] y [redacted] z')
  })

  it('SEC-13 ignores what is too short to be a secret, and leaves other text as it is', () => {
    const redactor = createRedactor(['short', '', 'a-real-secret-1\n'])
    expect(redactor.redact('short a-real-secret-1')).toBe('short [redacted]')
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        fc.pre(!text.includes('a-real-secret-1'))
        expect(redactor.redact(text)).toBe(text)
        expect(createRedactor().redact(text)).toBe(text)
      }),
    )
  })

  it('SEC-13 is quick where there is nothing to find', () => {
    const text = 'x'.repeat(1_000_000)
    const none = createRedactor()
    const started = performance.now()
    for (let round = 0; round < 1000; round += 1) none.redact(text)
    expect(performance.now() - started).toBeLessThan(50)
  })
})
