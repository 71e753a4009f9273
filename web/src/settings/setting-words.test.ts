import { expect, it } from 'vitest'
import { settingWords } from './setting-words.ts'

it.each([
  [null, 'not shown'],
  ['null', 'none'],
  ['true', 'yes'],
  ['[]', 'none'],
  ['["a","b"]', 'a, b'],
  ['{}', 'none'],
  ['8100', '8100'],
  ['150000', '150,000'],
  ['0.8', '0.8'],
  ['"<b>Familiar</b>"', '<b>Familiar</b>'],
])('%j is %s', (json, words) => {
  expect(settingWords(json)).toBe(words)
})
