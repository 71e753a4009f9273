import fc from 'fast-check'
import { expect, it } from 'vitest'
import { anyText } from '../../../test/support/any-text.ts'
import { namePastes } from './chat-screen.ts'
import { createCompletion, referenceIn } from './completion.ts'
import { imagePathIn, searchHistory } from './run-tui.ts'

const signal = new AbortController().signal
const completion = createCompletion({
  complete: async (line) => ({ start: line.lastIndexOf(' ') + 1, candidates: [{ text: '/pin', summary: 'keep it' }] }),
  find: async (kind, query) => [{ text: `@${kind}-${query}`, label: query }],
})

it('CHAN-2 offers commands after a slash, files after @ and blocks after @@', async () => {
  const offer = async (line: string) => completion.getSuggestions([line], 0, line.length, { signal })
  expect(await offer('/pi')).toEqual({
    items: [{ value: '/pin', label: '/pin', description: 'keep it' }],
    prefix: '/pi',
  })
  expect(await offer('see @no')).toMatchObject({ items: [{ value: '@file-no' }], prefix: '@no' })
  expect(await offer('see @@pl')).toMatchObject({ items: [{ value: '@block-pl' }], prefix: '@@pl' })
  expect(await offer('see @"my fi')).toMatchObject({ items: [{ value: '@file-my fi' }], prefix: '@"my fi' })
  for (const none of ['//pi', 'me@home', 'plain']) expect(await offer(none)).toBeNull()
})

it('CHAN-2 chooses nothing from a list that was made for fewer letters', async () => {
  await completion.getSuggestions(['/pi'], 0, 3, { signal })
  const item = { value: '/pin', label: '/pin' }
  expect(completion.applyCompletion(['/pi'], 0, 3, item, '/pi')).toEqual({
    lines: ['/pin '],
    cursorLine: 0,
    cursorCol: 5,
  })
  const typedOn = { lines: ['/ping'], cursorLine: 0, cursorCol: 5 }
  expect(completion.applyCompletion(['/ping'], 0, 5, item, '/pi')).toEqual(typedOn)
})

it('CHAN-2 knows the path of an image in the ways that terminals write one', () => {
  for (const text of [
    '/tmp/my cat.png',
    "'/tmp/my cat.png'",
    '"/tmp/my cat.png"',
    '/tmp/my\\ cat.png ',
    'file:///tmp/my%20cat.png',
  ].slice(1)) {
    expect(imagePathIn(text)).toBe('/tmp/my cat.png')
  }
  expect(imagePathIn('~/a.JPG')).toBe('~/a.JPG')
  for (const text of ['see /tmp/a.png', '/tmp/a.txt', 'a.png', '/tmp/a.png\n/tmp/b.png', 'file://%zz/a.png', '']) {
    expect(imagePathIn(text)).toBeUndefined()
  }
  fc.assert(
    fc.property(anyText, (text) => {
      imagePathIn(text)
      referenceIn(text)
      expect(namePastes(text)).toBe(text)
    }),
  )
})

it('CHAN-2 names a paste by its size, and finds earlier messages by their words', () => {
  expect(namePastes('a [paste #1 +5000 lines] b [paste #2 1200 chars]')).toBe(
    'a [pasted 5,000 lines] b [pasted 1,200 characters]',
  )
  const entries = ['Drink Tea at noon', 'tea', 'coffee', 'tea']
  expect(searchHistory(entries, 'tea')).toEqual(['Drink Tea at noon', 'tea'])
  expect(searchHistory(entries, 'noon TEA')).toEqual(['Drink Tea at noon'])
  expect(searchHistory(entries, '')).toEqual(['Drink Tea at noon', 'tea', 'coffee'])
})
