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
  'json in json in json': (text) => JSON.stringify(JSON.stringify(JSON.stringify(text))).slice(7, -7),
  'escaped unicode': (text) =>
    units(text)
      .map((unit) => `\\u${hex(unit, 4)}`)
      .join(''),
  'escaped unicode in json': (text) =>
    units(text)
      .map((unit) => `\\\\u${hex(unit, 4).toUpperCase()}`)
      .join(''),
  'percent for every byte': (text) => [...Buffer.from(text)].map((byte) => `%${hex(byte, 2)}`).join(''),
  'named entities': (text) => text.replace(/[&<>"']/g, (letter) => `&${entityNames[letter]};`),
  'decimal entities': (text) => [...text].map((letter) => `&#${letter.codePointAt(0)};`).join(''),
  'hexadecimal entities': (text) => [...text].map((letter) => `&#x${letter.codePointAt(0)?.toString(16)};`).join(''),
  'mixed entities': (text) =>
    [...text].map((letter, place) => (place % 2 ? `&#0${letter.codePointAt(0)}` : letter)).join('\u200b'),
  reversed: (text) => [...text].reverse().join(''),
}

const units = (text: string): number[] => text.split('').map((unit) => unit.charCodeAt(0))
const hex = (value: number, length: number): string => value.toString(16).padStart(length, '0')
const entityNames: Record<string, string> = { '&': 'amp', '<': 'lt', '>': 'gt', '"': 'quot', "'": 'apos' }

describe('redactor', () => {
  for (const [name, encode] of Object.entries(encodings)) {
    it(`SEC-13 removes a secret in its ${name} form, wherever it occurs`, () => {
      fc.assert(
        fc.property(secret, around, around, (word, before, after) => {
          const redactor = createRedactor([word])
          const encoded = encode(word)
          // An entity without a semicolon means another character if a digit follows.
          fc.pre(!(name === 'mixed entities' && /^\d/.test(after)))
          expect(redactor.redact(`${before}${encoded}${after}`)).not.toContain(encoded)
          expect(redactor.redact(encoded)).toBe('[redacted]')
        }),
        { numRuns: 300 },
      )
    })
  }

  it('SEC-13 finds a secret that was encoded together with its surroundings', () => {
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

  it('SEC-13 finds a secret in base64 with line breaks, and with changed case', () => {
    const word = 'sk-Canary-0123456789-AbCdEf'
    const encoded = Buffer.from(`{"user":"somebody","token":"${word}","more":"${'x'.repeat(80)}"}`).toString('base64')
    const redactor = createRedactor([word])
    for (const [width, newline] of [
      [64, '\n'],
      [40, '\r\n'],
      [20, '\n    '],
    ] as const) {
      const lines = encoded.match(new RegExp(`.{1,${width}}`, 'g')) ?? []
      const cleaned = redactor.redact(lines.join(newline)).replaceAll(/\s/g, '')
      const rest = cleaned.split('[redacted]').map((part) => Buffer.from(part, 'base64').toString('latin1'))
      expect(rest).toHaveLength(2)
      expect(rest.join(' ')).not.toContain('Canary')
    }
    expect(redactor.redact(`${word.toLowerCase()} ${word.toUpperCase()}`)).toBe('[redacted] [redacted]')
  })

  it('SEC-13 finds each long line of a multi-line secret', () => {
    const line = 'MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcw'
    const redactor = createRedactor([`-----BEGIN PRIVATE KEY-----\n${line}\nabcd\n-----END PRIVATE KEY-----\n`])
    expect(redactor.redact(`line 2: ${line}`)).toBe('line 2: [redacted]')
    expect(redactor.redact('-----BEGIN PRIVATE KEY-----')).toBe('-----BEGIN PRIVATE KEY-----')
  })

  it('SEC-13 leaves no remainder of overlapping secrets', () => {
    const redactor = createRedactor(['abcdefghij', 'ghijklmnop', 'abcdefgh'])
    expect(redactor.redact('x abcdefghijklmnop y abcdefgh z')).toBe('x [redacted] y [redacted] z')
  })

  it('SEC-13 ignores values too short to be secrets, and leaves other text unchanged', () => {
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
})
