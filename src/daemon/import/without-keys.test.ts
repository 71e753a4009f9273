import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { anyText } from '../../../test/support/any-text.ts'
import { withoutKeys } from './plan-import.ts'

describe('withoutKeys', () => {
  it.each([
    `sk-ant-api03-${'x'.repeat(40)}`,
    `ghp_${'a1'.repeat(18)}`,
    'xoxb-1234567890-abcdefghij',
    'AKIAIOSFODNN7EXAMPLE',
    `AIza${'b'.repeat(35)}`,
    `1234567890:${'A_-'.repeat(11)}AB`,
    `eyJhbGciOiJIUzI1NiJ9.${'e'.repeat(20)}.${'f'.repeat(20)}`,
    '-----BEGIN OPENSSH PRIVATE KEY-----\nabc\n-----END OPENSSH PRIVATE KEY-----',
    '-----BEGIN PRIVATE KEY-----\nabc',
  ])('IMPORT-1 removes %s and nothing around it', (key) => {
    expect(withoutKeys(`the key is ${key}`)).toEqual({ text: 'the key is [a key was removed here]', count: 1 })
  })

  it.each(['sk-learn is a package', 'call 12345678:30', 'AKIA', 'eyJ.x.y', 'a task-list-of-things-to-do-this-week-ok'])(
    'IMPORT-1 keeps %s',
    (text) => {
      expect(withoutKeys(text)).toEqual({ text, count: 0 })
    },
  )

  it('IMPORT-1 changes no text without keys, and is idempotent', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const first = withoutKeys(text)
        if (first.count === 0) expect(first.text).toBe(text)
        expect(withoutKeys(first.text).count).toBe(0)
      }),
    )
  })
})
