import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createRedactor, createStreamRedactor } from './redactor.ts'

const secrets = [
  'sk-canary-0123456789',
  'canary-0123-other-one',
  '"quoted\nsecret\\',
  'aaaaaaaaaaaa',
  'cänary-ключ-鍵-🔑',
]
const redactor = createRedactor(secrets)

const forms = secrets.flatMap((secret) => [
  secret,
  Buffer.from(`user:${secret}`).toString('base64'),
  Buffer.from(secret).toString('hex'),
  encodeURIComponent(secret),
  JSON.stringify(JSON.stringify(secret)),
  [...secret].map((letter) => `&#x${letter.codePointAt(0)?.toString(16)};`).join(''),
  [...secret].map((letter) => `&#${letter.codePointAt(0)}`).join('\u200b'),
  secret
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join(''),
])
const piece = fc.oneof(
  fc.constantFrom(...forms),
  fc
    .tuple(fc.constantFrom(...forms), fc.nat(40), fc.nat(40))
    .map(([form, from, length]) => form.slice(from, from + length)),
  fc.constantFrom('\\', '&', '%', '&#', '\n', '\\u00', '%C3', '%C3%A9', 'a', ' ', '&amp;', '\u200b'),
  fc.string({ maxLength: 12 }),
)
const text = fc.array(piece, { maxLength: 8 }).map((pieces) => pieces.join(''))

function inPieces(whole: string, lengths: readonly number[]): string[] {
  const pieces: string[] = []
  let rest = whole
  for (let turn = 0; rest !== ''; turn += 1) {
    const length = lengths[turn % lengths.length] ?? 1
    pieces.push(rest.slice(0, length))
    rest = rest.slice(length)
  }
  return pieces
}

describe('createStreamRedactor', () => {
  it('SEC-13 the output equals that of the whole text, wherever it is split', () => {
    const lengths = fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 5 })
    fc.assert(
      fc.property(text, lengths, (whole, cuts) => {
        const stream = createStreamRedactor(redactor)
        const told = inPieces(whole, cuts).map((each) => stream.push(each))
        expect([...told, stream.end()].join('')).toBe(redactor.redact(whole))
      }),
      { numRuns: 3_000 },
    )
  })

  it('SEC-13 holds back only what could be the beginning of a secret', () => {
    const stream = createStreamRedactor(redactor)
    expect(stream.push('The key is sk-can')).toBe('The key is ')
    expect(stream.push('not be told.')).toBe('sk-cannot be told.')
    expect(stream.push(' Ask again.')).toBe(' Ask again.')
    expect(stream.end()).toBe('')
  })

  it('SEC-13 holds nothing back without secrets', () => {
    const stream = createStreamRedactor(createRedactor())
    expect(stream.push('sk-\\')).toBe('sk-\\')
  })
})
