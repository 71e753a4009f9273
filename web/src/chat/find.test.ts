import fc from 'fast-check'
import { expect, it } from 'vitest'
import { addressOf, wordPattern } from './find.tsx'

const found = {
  title: '',
  snippet: { text: '', marks: [] },
  words: [],
  at: null,
  message: null,
  reference: null,
  tool: null,
}

it('FIND-4 each kind of result has its place', () => {
  const message = { id: null, turn: 't1', role: 'assistant' } as const
  expect(addressOf({ ...found, kind: 'message', id: 's', message, words: ['a', 'b'] })).toBe(
    '/talk/s?turn=t1&word=a&word=b',
  )
  expect(addressOf({ ...found, kind: 'message', id: 's', message: { id: 'm', turn: 't1', role: 'user' } })).toBe(
    '/talk/s?message=m',
  )
  expect(addressOf({ ...found, kind: 'note', id: 'a/b.md' })).toBe('/blocks/a%2Fb.md')
  expect(addressOf({ ...found, kind: 'tool', id: 'x', tool: 'built' })).toBe('/capabilities/x')
  expect(addressOf({ ...found, kind: 'tool', id: 'x', tool: 'other' })).toBe('/toolbox/x')
  expect(addressOf({ ...found, kind: 'setting', id: 'policy.mode' })).toBe('/settings/permissions?setting=policy.mode')
  expect(addressOf({ ...found, kind: 'setting', id: 'http.port' })).toBe('/settings/configuration?setting=http.port')
  expect(addressOf({ ...found, kind: 'file', id: 'f' })).toBeUndefined()
})

it('FIND-4 whole words are highlighted, and in scripts without spaces parts of a run', () => {
  const words = (text: string, ...forms: string[]) =>
    [...text.matchAll(wordPattern(forms) ?? /$^/g)].map(([word]) => word)
  expect(words('The key of the monkey: KEY', 'key')).toEqual(['key', 'KEY'])
  expect(words('東京で寿司を', '寿司')).toEqual(['寿司'])
  expect(words('جواز السفر', 'السفر')).toEqual(['السفر'])
  expect(wordPattern(['', '.*'])).toBeUndefined()
})

it('FIND-4 any words make a pattern that finds them', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'binary', maxLength: 20 }), { maxLength: 5 }), (words) => {
      const pattern = wordPattern(words)
      for (const word of words) {
        const plain = word.replaceAll(/[^\p{L}\p{N}\p{M}]/gu, '')
        if (plain !== '') expect(` ${plain} `.match(pattern ?? /$^/)).not.toBeNull()
      }
    }),
  )
})
