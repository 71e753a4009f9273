import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createRedactor, redactJson, redactStored } from './redactor.ts'

const secret = 'sk-canary-"0123456789"'
const redactor = createRedactor([secret, '4242424242424242', 'nabcdefgh'])

describe('redactJson', () => {
  it('SEC-13 removes secrets from texts, keys and numbers at any depth', () => {
    const value = { list: [{ text: `a ${secret} b`, [`key ${secret}`]: 4242424242424242, count: 7, none: null }] }
    expect(redactJson(redactor, value)).toEqual({
      list: [{ text: 'a [redacted] b', 'key [redacted]': '[redacted]', count: 7, none: null }],
    })
  })

  it('SEC-13 returns values without secrets uncopied', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(redactJson(redactor, value)).toBe(value)
      }),
    )
    const bytes = new Uint8Array(3)
    const load = () => bytes
    expect(redactJson(redactor, { bytes, load, text: secret })).toEqual({ bytes, load, text: '[redacted]' })
  })

  it('SEC-13 leaves no secret in any JSON', () => {
    const text = fc.string().map((around) => `${around}${secret}${around}`)
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof({ depthSize: 'small' }, text, fc.integer(), tie('list'), tie('object')),
      list: fc.array(tie('value'), { maxLength: 4 }),
      object: fc.dictionary(fc.oneof(fc.string(), text), tie('value'), { maxKeys: 4 }),
    }))
    fc.assert(
      fc.property(value, (made) => {
        expect(JSON.stringify(redactJson(redactor, made))).not.toContain('0123456789')
      }),
    )
  })
})

describe('redactStored', () => {
  it('SEC-13 keeps JSON valid when a secret begins like an escape', () => {
    const stored = JSON.stringify({ text: 'first\nabcdefgh', other: 'nabcdefgh', key: secret })
    expect(JSON.parse(redactStored(redactor, stored))).toEqual({
      text: 'first\nabcdefgh',
      other: '[redacted]',
      key: '[redacted]',
    })
  })

  it('SEC-13 removes secrets from other text', () => {
    expect(redactStored(redactor, `{ not json ${secret}`)).toBe('{ not json [redacted]')
    expect(redactStored(redactor, 'nothing here')).toBe('nothing here')
  })
})
