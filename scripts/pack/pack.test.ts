import { expect, it } from 'vitest'
import { makeShrinkwrap } from './make-shrinkwrap.ts'
import { stripSource } from './strip-source.ts'

it('PACK-1 strips types, keeps every line, and names each of our files as it will be called', () => {
  const source = [
    "import type { Clock } from './clock.ts'",
    "import { one } from '../one.ts'",
    'export const two = (value: number): number => value',
    "const worker = new URL('./worker.ts', import.meta.url)",
    "const later = () => import('./later.ts')",
    "const prompt = new URL('prompts/core.md', import.meta.url)",
    "const elsewhere = new URL('https://example.org/a.ts')",
    "// as './comment.md' says",
  ].join('\n')
  const { text, names } = stripSource(source)
  const lines = text.split('\n')
  expect(lines).toHaveLength(8)
  expect(lines[0]?.trim()).toBe('')
  expect(lines[2]).toMatch(/^export const two = \(value\s*\)\s*=> value$/)
  expect(text).not.toMatch(/\.\/(one|worker|later)\.ts/)
  expect(text).toContain('https://example.org/a.ts')
  expect(names).toEqual(['../one.js', './worker.js', './later.js', 'prompts/core.md'])
})

it('PACK-1 locks the installed packages, without development dependencies and registries', () => {
  const lock = {
    lockfileVersion: 3,
    packages: {
      '': { dependencies: { a: '1.0.0' }, devDependencies: { b: '1.0.0' } },
      'node_modules/a': { version: '1.0.0', resolved: 'https://example.org/a.tgz', integrity: 'sha512-a' },
      'node_modules/b': { version: '1.0.0', dev: true },
    },
  }
  expect(JSON.parse(makeShrinkwrap(JSON.stringify(lock)))).toEqual({
    lockfileVersion: 3,
    packages: {
      '': { dependencies: { a: '1.0.0' } },
      'node_modules/a': { version: '1.0.0', integrity: 'sha512-a' },
    },
  })
})
