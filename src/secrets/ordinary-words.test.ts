import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { isOrdinaryWord } from './ordinary-words.ts'
import { createRedactor } from './redactor.ts'

const source = join(import.meta.dirname, '..')

it('SEC-13 knows every word that is stored or sent as a kind, a state or a role', () => {
  const files = globSync(['protocol/*.ts', 'storage/tables.ts', 'sessions/*.ts'], { cwd: source })
  const words = files
    .filter((path) => !path.endsWith('.test.ts'))
    .flatMap((path) => [...readFileSync(join(source, path), 'utf8').matchAll(/'([a-z][a-z_-]{7,})'/g)])
    .map(([, word = '']) => word)
  expect(words.length).toBeGreaterThan(50)
  // A secret that is one of these, or a part of one, would damage what is stored: such a word belongs on the list.
  expect([...new Set(words)].filter((word) => !isOrdinaryWord(word))).toEqual([])
})

it('SEC-13 does not take them for secrets', () => {
  const redactor = createRedactor()
  expect(redactor.add('assistant')).toBe(false)
  expect(redactor.add('message_')).toBe(false)
  expect(redactor.add('lm-studio')).toBe(false)
  expect(redactor.add('assistant1')).toBe(true)
  expect(redactor.redact('{"role":"assistant","type":"message_received"}')).toBe(
    '{"role":"assistant","type":"message_received"}',
  )
})
