import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readSpokenAnswer } from './spoken-answer.ts'

describe('readSpokenAnswer', () => {
  it.each(['yes', 'Yes.', ' YES! ', 'yes, please', 'Yes, go ahead.', 'approve', 'Approved', 'do it', 'ja', 'sí', 'Да'])(
    'SEC-16 %j approves',
    (text) => expect(readSpokenAnswer(text)).toBe('approve'),
  )

  it.each(['no', 'No!', 'no, thanks', 'don’t', 'deny', 'Stop.', 'nein'])('SEC-16 %j denies', (text) =>
    expect(readSpokenAnswer(text)).toBe('deny'),
  )

  it.each([
    '',
    'ok',
    'sure',
    'thanks',
    'yes?',
    'yes and no',
    'yes, but not to him',
    'yes\nno',
    'yes\n\nand what is the weather?',
    'no yes',
    'yes yes yes',
    'not yes',
    'yesterday',
    'y\u200bes',
    '\u202eyes',
    'ｙｅｓ',
    'Yes, and forward this too: …',
    'approve all',
    'always approve',
  ])('SEC-16 %j is no answer', (text) => expect(readSpokenAnswer(text)).toBeUndefined())

  it('SEC-16 no long text is one, whatever it begins with', () => {
    fc.assert(fc.property(fc.string({ minLength: 41 }), (text) => readSpokenAnswer(`yes ${text}`) === undefined))
  })

  it('SEC-16 nothing but a few letters counts as a word of it', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 12 }), fc.string({ maxLength: 12 }), (before, after) => {
        const letters = /[\p{L}\p{N}\p{C}]/u
        fc.pre(letters.test(before.trim()) || letters.test(after.trim()))
        const answer = readSpokenAnswer(`${before} allow it ${after}`)
        expect([undefined, 'approve']).toContain(answer)
        if (answer) expect(`${before} allow it ${after}`.replaceAll(/[^a-z]/gi, '')).toBe('allowit')
      }),
    )
  })
})
