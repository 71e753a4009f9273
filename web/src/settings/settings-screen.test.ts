import { expect, it } from 'vitest'
import { browserWords, settingWords } from './settings-screen.tsx'

it.each([
  ['Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0', 'Firefox on Linux'],
  [
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/142.0 Safari/537.36 Edg/142.0',
    'Edge on Windows',
  ],
  [
    'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1 Version/18.0 Safari/604.1',
    'Safari on iPhone',
  ],
  ['curl/8', 'curl/8'],
  ['', 'Browser'],
])('%j is %s', (agent, words) => {
  expect(browserWords(agent)).toBe(words)
})

it.each([
  [null, 'hidden'],
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
