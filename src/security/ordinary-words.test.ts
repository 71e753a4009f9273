import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { createRedactor, isOrdinaryWord } from './redactor.ts'

const source = join(import.meta.dirname, '..')

it('SEC-13 knows every word that is stored or sent as a kind, a state or a role', () => {
  const files = globSync(['protocol/*.ts', 'storage/tables.ts', 'agent/sessions/*.ts'], { cwd: source })
  const words = files
    // The kinds of schemas and of authentication are never stored or sent, `Reply['field']` names a type, and columns are names.
    .filter((path) => !path.endsWith('.test.ts') && path !== 'protocol/operation.ts')
    .map((path) =>
      readFileSync(join(source, path), 'utf8').replaceAll(/\bauth: '\w+'|(?<=>)\['\w+'\]|^const columns = .*/gm, ''),
    )
    .flatMap((text) => [...text.matchAll(/'([a-z][a-z_-]{7,})'/g)])
    .map(([, word = '']) => word)
  expect(words.length).toBeGreaterThan(50)
  // A secret that equals one of these, or a part of one, would corrupt stored data: such words belong on the list.
  expect([...new Set(words)].filter((word) => !isOrdinaryWord(word))).toEqual([])
})

it('SEC-13 does not treat them as secrets', () => {
  const redactor = createRedactor()
  expect(redactor.add('assistant')).toBe(false)
  expect(redactor.add('message_')).toBe(false)
  expect(redactor.add('lm-studio')).toBe(false)
  expect(redactor.add('assistant1')).toBe(true)
  expect(redactor.redact('{"role":"assistant","type":"message_received"}')).toBe(
    '{"role":"assistant","type":"message_received"}',
  )
})
